// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookups of neutron cross sections, after the description of XSBench (Tramm et al., PHYSOR 2014) and
// of its use by J. Klinkenberg et al. ("H2M", Future Generation Computer Systems, 2023): one sorted
// array has the energies of all nuclides; for each energy, an index row has each nuclide's place in
// its own grid. A lookup searches its energy, then reads two grid points of each nuclide of a
// material. Sizes are to the modelled caches as the published ones to theirs (grids three times the
// last level, energies half of it). Cross sections are linear in the energy, so that sums are known.
//
// usage: lookup NODES [lookups of a thread]
//   NODES   of the nuclides' grids, the index, the energies: 0,1,1
//   prints  seconds
#include "borders/model_marks.h"
#include "machine/guest_memory.h"

#include <math.h>
#include <omp.h>

enum { k_nuclides = 128, k_points = 768, k_energies = k_nuclides * k_points, k_sections = 5 };

struct point {
  double energy, section[k_sections];
};

struct grids {
  struct point* points; // of each nuclide k_points
  int* index;           // of each energy k_nuclides places
  double* energies;
};

// The materials of a reactor core (XSBench's large problem; its fuel has 321 of 355 nuclides).
struct material {
  int nuclides;
  double part; // of the lookups
};
static const struct material k_materials[] = {
    {116, 0.140}, {5, 0.052},  {4, 0.275},  {4, 0.134},  {27, 0.154}, {21, 0.064},
    {21, 0.066},  {21, 0.055}, {21, 0.008}, {21, 0.015}, {9, 0.025},  {9, 0.013}};

static double random_part(uint64_t* state) {
  return (double)next_random(state) / (double)(UINT64_C(1) << 31);
}

static void* on(int node, size_t bytes) {
  return memory_on(node, (bytes + k_huge_page - 1) / k_huge_page * k_huge_page, 1);
}

static void fill_points(struct point* points) {
  uint64_t state = 7;
  double energies[k_points];
  for (int n = 0; n < k_nuclides; n++) {
    for (int i = 0; i < k_points; i++)
      energies[i] = i == 0 ? 0 : i == 1 ? 1 : random_part(&state);
    qsort(energies, k_points, sizeof *energies, compare_doubles);
    for (int i = 0; i < k_points; i++) {
      struct point* one = &points[n * k_points + i];
      one->energy = energies[i];
      for (int s = 0; s < k_sections; s++)
        one->section[s] = s + energies[i];
    }
  }
}

static void fill_index(const struct grids* grids) {
  int place[k_nuclides] = {0};
  for (size_t i = 0; i < k_energies; i++)
    grids->energies[i] = grids->points[i].energy;
  qsort(grids->energies, k_energies, sizeof *grids->energies, compare_doubles);
  for (size_t i = 0; i < k_energies; i++)
    for (int n = 0; n < k_nuclides; n++) {
      const struct point* points = grids->points + n * k_points;
      while (place[n] + 2 < k_points && points[place[n] + 1].energy <= grids->energies[i])
        place[n]++;
      grids->index[i * k_nuclides + (size_t)n] = place[n];
    }
}

static size_t search(const double* energies, double energy) {
  size_t first = 0, length = k_energies;
  while (length > 1) {
    const size_t half = length / 2;
    if (energies[first + half] <= energy) first += half;
    length -= half;
  }
  return first;
}

// Sum of all cross sections of the material's nuclides at the energy.
static double look_up(const struct grids* grids, const struct material* material, double energy) {
  const int* row = grids->index + search(grids->energies, energy) * k_nuclides;
  double sums[k_sections] = {0}, sum = 0;
  for (int n = 0; n < material->nuclides; n++) {
    const struct point* low = &grids->points[n * k_points + row[n]];
    const double part = (energy - low->energy) / (low[1].energy - low->energy);
    for (int s = 0; s < k_sections; s++)
      sums[s] += low->section[s] + part * (low[1].section[s] - low->section[s]);
  }
  for (int s = 0; s < k_sections; s++)
    sum += sums[s];
  return sum;
}

static const struct material* pick(double part) {
  const struct material* material = k_materials;
  const struct material* last = k_materials + sizeof k_materials / sizeof *k_materials - 1;
  for (; material < last && part >= material->part; material++)
    part -= material->part;
  return material;
}

// Returns the largest relative error.
static double run(const struct grids* grids, int lookups) {
  double worst = 0;
#pragma omp parallel reduction(max : worst)
  {
    uint64_t state = (uint64_t)omp_get_thread_num() * 977 + 1;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < 4 * lookups; i++) {
      const struct material* material = pick(random_part(&state));
      const double energy = random_part(&state);
      const double wanted = material->nuclides * (10 + k_sections * energy);
      const double error = fabs(look_up(grids, material, energy) / wanted - 1);
      if (error > worst) worst = error;
    }
  }
  return worst;
}

int main(int count, char** arguments) {
  int points = 0, index = 0, energies = 0;
  if (count < 2 || sscanf(arguments[1], "%d,%d,%d", &points, &index, &energies) != 3) {
    fprintf(stderr, "usage: lookup NODE,NODE,NODE [LOOKUPS]\n");
    return 2;
  }
  const int lookups = count > 2 ? atoi(arguments[2]) : 3000;
  omptier_model_off();
  const struct grids grids = {on(points, sizeof(struct point) * k_energies),
                              on(index, sizeof(int) * k_nuclides * k_energies),
                              on(energies, sizeof(double) * k_energies)};
  fill_points(grids.points);
  fill_index(&grids);
  start_team();
  omptier_model_reset();
  omptier_model_on();
  const double begin = seconds_now();
  const double worst = run(&grids, lookups);
  const double took = seconds_now() - begin;
  omptier_model_off();
  if (worst > 1e-9) {
    fprintf(stderr, "lookup: wrong by %g\n", worst);
    return 1;
  }
  printf("%.6f\n", took);
  return 0;
}
