// Has a race, on purpose: the thread sanitizer must report it.

#include <cstdio>

int main() {
  int sum = 0;
#pragma omp parallel for
  for (int i = 0; i < 10000; ++i) sum += i;
  std::printf("%d\n", sum);
}
