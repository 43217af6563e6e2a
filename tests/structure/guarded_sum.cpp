// Free of races: the thread sanitizer has nothing to say.

#include <cstdio>
#include <vector>

int main() {
  constexpr int kCount = 10000;
  std::vector<int> a(kCount, 1), b(kCount);
  long sum = 0;
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel for
    for (int i = 0; i < kCount; ++i) b[i] = a[i];
    b[0] += 1;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 16)
      for (int i = 0; i < kCount; ++i) a[i] = b[kCount - 1 - i];
#pragma omp barrier
#pragma omp for schedule(dynamic, 16) nowait
      for (int i = 0; i < kCount; ++i) b[i] = a[kCount - 1 - i];
#pragma omp critical
      sum += 1;
    }
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < kCount; ++i) sum += b[i];
  }
  std::printf("%ld\n", sum);
}
