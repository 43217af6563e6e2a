#pragma once

// HEADWISE_VECTOR_CLONES before a function of plain loops: compiled for AVX-512 and AVX2 besides
// the baseline, and chosen when the program is loaded. Not under sanitizers, whose runtime is not
// ready then.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HEADWISE_VECTOR_CLONES [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define HEADWISE_VECTOR_CLONES
#endif
