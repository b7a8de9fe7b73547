// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// neutron_lookup: Monte Carlo macroscopic cross-section lookups, written from the published
// description of that kernel. A small array (the nuclide grid) takes nearly all of the memory time
// but is allocated last, so first come, first served gives fast memory to the wrong data. See
// ../README.md.

#include "arrays.hpp"
#include "lookup.hpp"
#include "options.hpp"
#include "report.hpp"

#include "../virtual_machine.h"

#include <cstdio>
#include <cstdlib>

namespace {

// A lookup costs 4 to several hundred nuclides, so the default schedule is dynamic. OMP_SCHEDULE
// overrides it.
void choose_threads_and_schedule(int threads) {
  if (threads > 0) omp_set_num_threads(threads);
  if (!std::getenv("OMP_SCHEDULE")) omp_set_schedule(omp_sched_dynamic, 64);
}

int threads_in_use() {
  int threads = 1;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  return threads;
}

// Repeats the lookups for each placement of --try. Returns false, after an error message, if one
// failed.
bool try_placements(const neutron::Options& options,
                    const std::vector<neutron::Material>& materials, neutron::Arrays& arrays,
                    neutron::Report& report) {
  for (const neutron::Placement& placement : options.tries) {
    if (!arrays.move(placement)) {
      std::fprintf(stderr, "neutron_lookup: %s\n", arrays.error().c_str());
      return false;
    }
    if (options.mark) example_measure_begin();
    const double start = omp_get_wtime();
    const std::uint64_t checksum =
        neutron::run_lookups(arrays.grids(), materials, options.lookups, options.seed);
    report.trials.push_back({omp_get_wtime() - start, neutron::describe_where(arrays.grids())});
    if (options.mark) example_measure_end();
    if (checksum == report.checksum) continue;
    std::fprintf(stderr, "neutron_lookup: the checksum changed when the arrays had moved\n");
    return false;
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  using namespace neutron;
  const std::optional<Options> options = read_options(argc, argv);
  if (!options) return 2;
  choose_threads_and_schedule(options->threads);
  if (options->mark) example_measure_end(); // the launcher may have switched it on

  Report report;
  report.threads = threads_in_use();
  double start = omp_get_wtime();
  Arrays arrays(options->shape, options->placement, options->reverse_order);
  if (!arrays.ok()) {
    std::fprintf(stderr, "neutron_lookup: %s\n", arrays.error().c_str());
    return 2;
  }
  const std::vector<Material> materials = make_materials(options->shape.nuclides);
  fill_grids(arrays.grids(), options->seed);
  report.setup_seconds = omp_get_wtime() - start;

  report.marked = options->mark && example_measure_begin();
  start = omp_get_wtime();
  report.checksum = run_lookups(arrays.grids(), materials, options->lookups, options->seed);
  report.lookup_seconds = omp_get_wtime() - start;
  if (options->mark) example_measure_end();

  if (options->verify)
    report.verified = check_grids(arrays.grids()) &&
                      report.checksum == expected_checksum(options->shape, materials,
                                                           options->lookups, options->seed);
  if (options->where) {
    report.where = describe_where(arrays.grids());
    report.range = describe_ranges(arrays.grids());
  }
  if (!try_placements(*options, materials, arrays, report)) return 2;
  print_report(*options, materials, report);
  return report.verified.value_or(true) ? 0 : 1;
}
