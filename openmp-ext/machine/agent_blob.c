/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Embeds the guest's init program, a static executable, in the library. The build passes its path
 * in OMPTIER_AGENT_FILE.
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
