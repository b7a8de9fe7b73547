// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small functions as compilers make them, to be run and to be emulated: the two results must be the
// same. Loops with indices, hashes, divisions, calls, spilled registers. Compiled with -O2.

#include "emulation_emulate_cases.hpp"

#if defined(__clang__)
#define CASE extern "C" __attribute__((noinline)) std::uint64_t
#else
#define CASE extern "C" __attribute__((noinline, noclone)) std::uint64_t
#endif

CASE case_sum(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    sum += data[i];
  return sum;
}

CASE case_indirect(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0;
  const auto* index = reinterpret_cast<const std::uint32_t*>(data);
  for (std::uint64_t i = 0; i < count; ++i)
    sum += data[index[i] % 16] * (i + 3);
  return sum;
}

CASE case_hash(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t at = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t key = data[i & 15] * 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
    key = key << 7 | key >> 57;
    __extension__ using Wide = unsigned __int128;
    at += static_cast<std::uint64_t>(Wide(key) * 13 >> 64) + (key % 11) + data[key % 7];
  }
  return at;
}

CASE case_divide(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 1; i <= count; ++i) {
    sum += data[i & 15] / (i + 2) + data[i & 7] % (i + 5);
    const auto signed_one = static_cast<std::int32_t>(data[i & 15]);
    sum += static_cast<std::uint64_t>(signed_one / static_cast<std::int32_t>(i + 1));
  }
  return sum;
}

CASE case_branches(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t low = 0, high = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int64_t>(data[i & 15]);
    if (value < 0) low += 1;
    if (data[i & 15] > data[(i + 1) & 15]) high += i;
    low = static_cast<std::int64_t>(low) > 12 ? low - 5 : low + (value & 1);
    high += value == 77;
  }
  return low << 32 | high;
}

CASE case_bits(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t word = data[i & 15] | 1;
    sum +=
        static_cast<unsigned>(__builtin_ctzll(word)) + static_cast<unsigned>(__builtin_clzll(word));
    sum += __builtin_bswap64(word) ^ __builtin_bswap32(static_cast<std::uint32_t>(word));
    sum -= ~word & (word << 3);
    sum ^= static_cast<std::uint64_t>(-static_cast<std::int64_t>(word >> 5));
    word &= word - 1;
    sum += word;
  }
  return sum;
}

CASE case_binary_search(std::uint64_t wanted, const std::uint64_t* data) {
  std::uint64_t low = 0, high = 16;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (data[16 + middle] < wanted * 100)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Called in loops: saves registers, and uses them.
CASE case_callee(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = count;
  for (std::uint64_t i = 0; i < count % 4 + 1; ++i)
    sum += case_sum(i + 1, data + i);
  return sum;
}

CASE case_calls(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0, other = 7;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += case_callee(i, data);
    other = other * 3 + data[sum % 16];
  }
  return sum ^ other;
}

CASE case_recursive(std::uint64_t depth, const std::uint64_t* data) {
  if (depth == 0) return data[0];
  return case_recursive(depth - 1, data + depth % 3) * 5 + data[depth % 8];
}

// More values than registers.
CASE case_spills(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t v[20];
  for (std::uint64_t i = 0; i < 20; ++i)
    v[i] = data[i] + i;
  for (std::uint64_t k = 0; k < count; ++k)
    for (std::uint64_t i = 0; i < 20; ++i)
      v[i] += v[(i * 7 + k) % 20] >> 1;
  std::uint64_t sum = 0;
  for (std::uint64_t one : v)
    sum = sum * 31 + one;
  return sum;
}

CASE case_narrow(std::uint64_t count, const std::uint64_t* data) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data);
  const auto* shorts = reinterpret_cast<const std::int16_t*>(data);
  std::uint32_t sum = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum = sum * 33 + bytes[i];
    sum ^= static_cast<std::uint32_t>(shorts[i]);
    sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(bytes[i]) >> 2);
  }
  return sum;
}

// Coordinates to cells, as in a particle-in-cell code.
CASE case_cells(std::uint64_t count, const std::uint64_t* data) {
  std::uint64_t sum = 0;
  double place = 0.25;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(data[i & 15] >> 40) * 0.37 - 1e5;
    const auto y = static_cast<float>(static_cast<std::int32_t>(data[i & 15] >> 35)) / 3.0f;
    place += __builtin_fabs(x) / (static_cast<double>(y) + 1.5);
    if (place > 1e6) place -= 1e6;
    const double least = x < place ? x : place;
    sum += data[static_cast<std::uint32_t>(static_cast<std::int32_t>(place)) & 15];
    sum ^= static_cast<std::uint64_t>(static_cast<std::int64_t>(least * 4));
    sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(y * 2.5f));
  }
  return sum + static_cast<std::uint64_t>(__builtin_sqrt(__builtin_fabs(place)) * 1e3);
}

// One vector instruction, whose 32 bytes of result are folded into a word.
#define VECTOR_CASE(name, text)                                                                    \
  extern "C" std::uint64_t case_##name(std::uint64_t, const std::uint64_t*);                       \
  asm(".text\n .type case_" #name ", @function\n .globl case_" #name "\n case_" #name ":\n"        \
      ".cfi_startproc\n vmovdqu (%rsi), %ymm1\n vmovdqu 32(%rsi), %ymm2\n" text                    \
      "\n vmovdqu %ymm0, -64(%rsp)\n vzeroupper\n movq -64(%rsp), %rax\n addq -56(%rsp), %rax\n"   \
      "rolq $7, %rax\n addq -48(%rsp), %rax\n rolq $7, %rax\n addq -40(%rsp), %rax\n ret\n"        \
      ".cfi_endproc\n .size case_" #name ", . - case_" #name "\n");

VECTOR_CASE(vpaddd, "vpaddd %ymm1, %ymm2, %ymm0")
VECTOR_CASE(vpsubq, "vpsubq %ymm1, %ymm2, %ymm0")
VECTOR_CASE(vpmuludq, "vpmuludq %ymm1, %ymm2, %ymm0")
VECTOR_CASE(vpmulld, "vpmulld 64(%rsi), %ymm2, %ymm0")
VECTOR_CASE(vpsllq, "vpsllq $3, %ymm1, %ymm0")
VECTOR_CASE(vpsrld, "vpsrld $5, %ymm1, %ymm0")
VECTOR_CASE(vpslld_all, "vpslld $40, %ymm1, %ymm0")
VECTOR_CASE(vpmovsxdq, "vpmovsxdq %xmm1, %ymm0")
VECTOR_CASE(vpmovzxwd, "vpmovzxwd 6(%rsi), %ymm0")
VECTOR_CASE(vpmovsxbq, "vpmovsxbq 3(%rsi), %ymm0")
VECTOR_CASE(vpbroadcastq, "vpbroadcastq %xmm2, %ymm0")
VECTOR_CASE(vpbroadcastd, "vpbroadcastd 12(%rsi), %ymm0")
VECTOR_CASE(vextracti128, "vextracti128 $1, %ymm1, %xmm0")
VECTOR_CASE(vpextrq, "vpextrq $1, %xmm1, %rax\n vmovq %rax, %xmm0")
VECTOR_CASE(vpand, "vpand %ymm1, %ymm2, %ymm0")
VECTOR_CASE(vpor, "vpor %ymm1, %ymm2, %ymm0")
VECTOR_CASE(vpxor,
            "vpxor %ymm1, %ymm2, %ymm3\n vpxor %ymm4, %ymm4, %ymm5\n vpaddq %ymm3, %ymm5, %ymm0")
VECTOR_CASE(vmovd, "vmovd %edi, %xmm1\n vpaddd %xmm1, %xmm2, %xmm0")

// From 32-bit integers to floating-point values and back, so that none is out of range.
#define FLOAT_CASE(name, text)                                                                     \
  VECTOR_CASE(name, "vcvtdq2pd %xmm1, %ymm3\n vcvtdq2pd %xmm2, %ymm4\n vcvtdq2ps %ymm1, %ymm5\n"   \
                    "vcvtdq2ps %ymm2, %ymm6\n" text)
FLOAT_CASE(vmulpd, "vmulpd %ymm3, %ymm4, %ymm0")
FLOAT_CASE(vdivps, "vdivps %ymm5, %ymm6, %ymm0")
FLOAT_CASE(vminpd, "vminpd %ymm3, %ymm4, %ymm0")
FLOAT_CASE(vcmppd, "vcmppd $1, %ymm3, %ymm4, %ymm0")
FLOAT_CASE(vcmpps, "vcmpps $13, %ymm5, %ymm6, %ymm0")
FLOAT_CASE(cmpnlesd, "vmovapd %ymm4, %ymm0\n cmpnlesd %xmm3, %xmm0\n vmovapd %xmm0, %xmm0")
FLOAT_CASE(cmpeqss, "vmovaps %ymm6, %ymm0\n cmpeqss %xmm6, %xmm0\n vmovaps %xmm0, %xmm0")
FLOAT_CASE(vsubsd, "vsubsd %xmm3, %xmm4, %xmm0")
FLOAT_CASE(vmaxss, "vmaxss %xmm5, %xmm6, %xmm0")
FLOAT_CASE(vsqrtpd, "vandpd %ymm3, %ymm4, %ymm3\n vmulpd %ymm3, %ymm3, %ymm3\n vsqrtpd %ymm3, %ymm0")
FLOAT_CASE(vroundsd, "vdivsd %xmm4, %xmm3, %xmm3\n vroundsd $1, %xmm3, %xmm4, %xmm0")
FLOAT_CASE(vroundps, "vdivps %ymm6, %ymm5, %ymm5\n vroundps $2, %ymm5, %ymm0")
FLOAT_CASE(roundss, "vmovaps %ymm6, %ymm0\n roundss $8, %xmm5, %xmm0\n vmovaps %xmm0, %xmm0")
FLOAT_CASE(vfmadd213sd, "vmovapd %xmm3, %xmm0\n vfmadd213sd %xmm3, %xmm4, %xmm0")
FLOAT_CASE(vfnmadd231ps, "vmovaps %ymm5, %ymm0\n vfnmadd231ps %ymm5, %ymm6, %ymm0")
FLOAT_CASE(vfmsub132pd, "vmovapd %ymm3, %ymm0\n vfmsub132pd %ymm3, %ymm4, %ymm0")
FLOAT_CASE(vcvttpd2dq, "vdivpd %ymm4, %ymm3, %ymm3\n vcvttpd2dq %ymm3, %xmm0")
FLOAT_CASE(vcvtps2dq, "vdivps %ymm6, %ymm5, %ymm5\n vcvtps2dq %ymm5, %ymm0")
FLOAT_CASE(vcvttps2dq_far, "vmulps %ymm6, %ymm5, %ymm5\n vcvttps2dq %ymm5, %ymm0")
FLOAT_CASE(vcvtpd2ps, "vcvtpd2ps %ymm3, %xmm5\n vcvtps2pd %xmm5, %ymm0")
FLOAT_CASE(vcvtsd2ss, "vcvtsd2ss %xmm3, %xmm6, %xmm5\n vcvtss2sd %xmm5, %xmm4, %xmm0")
FLOAT_CASE(cvtsi2sd, "vpxor %xmm0, %xmm0, %xmm0\n cvtsi2sdq (%rsi), %xmm0\n cvtsd2si %xmm0, %rax\n"
                     " vmovq %rax, %xmm0")
FLOAT_CASE(vmovss, "vmovss 4(%rsi), %xmm3\n vmovss %xmm3, %xmm4, %xmm0")
FLOAT_CASE(comisd, "xorl %eax, %eax\n vcomisd %xmm3, %xmm4\n seta %al\n vmovq %rax, %xmm0")
FLOAT_CASE(unpcklps, "vunpcklps %ymm5, %ymm6, %ymm0")
FLOAT_CASE(unpckhpd, "vunpckhpd %ymm3, %ymm4, %ymm0")
FLOAT_CASE(vpshufd, "vpshufd $0x39, %ymm1, %ymm0")
FLOAT_CASE(movhpd, "vmovsd 8(%rsi), %xmm0\n movhpd 24(%rsi), %xmm0")
FLOAT_CASE(vinserti128, "vinserti128 $1, %xmm2, %ymm1, %ymm0")

#define ONE(name) {#name, case_##name}
const EmulationCase emulation_cases[] = {
    ONE(sum),       ONE(indirect),      ONE(hash),         ONE(divide),       ONE(branches),
    ONE(bits),      ONE(binary_search), ONE(callee),       ONE(calls),        ONE(recursive),
    ONE(spills),    ONE(vpaddd),        ONE(vpsubq),       ONE(vpmuludq),     ONE(vpmulld),
    ONE(vpsllq),    ONE(vpsrld),        ONE(vpslld_all),   ONE(vpmovsxdq),    ONE(vpmovzxwd),
    ONE(vpmovsxbq), ONE(vpbroadcastq),  ONE(vpbroadcastd), ONE(vextracti128), ONE(vpextrq),
    ONE(vpand),     ONE(vpor),          ONE(vpxor),        ONE(vmovd),        ONE(narrow),
    ONE(cells),     ONE(vmulpd),        ONE(vdivps),       ONE(vminpd),       ONE(vsubsd),
    ONE(vmaxss),    ONE(vsqrtpd),       ONE(vroundsd),     ONE(vroundps),     ONE(roundss),
    ONE(vfmadd213sd), ONE(vfnmadd231ps), ONE(vfmsub132pd), ONE(vcvttpd2dq),   ONE(vcvtps2dq),
    ONE(vcvttps2dq_far), ONE(vcvtpd2ps), ONE(vcvtsd2ss),   ONE(cvtsi2sd),     ONE(vmovss),
    ONE(comisd),    ONE(unpcklps),      ONE(unpckhpd),     ONE(vpshufd),      ONE(movhpd),
    ONE(vinserti128), ONE(vcmppd),      ONE(vcmpps),       ONE(cmpnlesd),     ONE(cmpeqss)};
const unsigned emulation_case_count = sizeof emulation_cases / sizeof *emulation_cases;
