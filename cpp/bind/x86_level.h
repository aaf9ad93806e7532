/* The x86-64 level of this processor, 1 to 4; 0 on any other. Plain C for the baseline: the build runs it too. */
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>

/* The x86-64 level, 1 to 4, asked of the processor itself: __builtin_cpu_supports needs a run-time library that not
   every toolchain has (zig, clang-cl). */
static int x86_level(void) {
  unsigned a, b, c, d, leaf7 = 0, extended = 0, xcr0 = 0, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
  const unsigned leaf1 = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) leaf7 = b;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) extended = c;
  /* OSXSAVE: what registers the operating system saves can be asked */
  if (leaf1 & (1u << 27)) __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
#define ALL(word, bits) (((word) & (bits)) == (bits))
  /* SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF */
  const unsigned v2 = 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
  if (!ALL(leaf1, v2) || !ALL(extended, 1u)) return 1;
  /* FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; XMM and YMM saved */
  const unsigned v3 = 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29;
  if (!ALL(leaf1, v3) || !ALL(leaf7, 1u << 3 | 1u << 5 | 1u << 8) || !ALL(extended, 1u << 5) || !ALL(xcr0, 0x06u))
    return 2;
  /* AVX-512 F, DQ, CD, BW, VL; mask registers and ZMM saved */
  const unsigned v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  if (!ALL(leaf7, v4) || !ALL(xcr0, 0xe6u)) return 3;
#undef ALL
  return 4;
}
#else
static int x86_level(void) { return 0; }
#endif
