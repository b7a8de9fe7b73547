/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The guest's first program, a static executable, as bytes inside the library: the build names its
 * file in OMPTIER_AGENT_FILE.
 */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global omptier_guest_agent\n"
        ".hidden omptier_guest_agent\n"
        "omptier_guest_agent:\n"
        ".incbin \"" OMPTIER_AGENT_FILE "\"\n"
        ".global omptier_guest_agent_end\n"
        ".hidden omptier_guest_agent_end\n"
        "omptier_guest_agent_end:\n"
        ".byte 0\n"
        ".previous\n");
