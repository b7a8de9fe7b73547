# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(placement SOURCES placement_test.cpp placement_faults_test.cpp placement_front_test.cpp folder_test.cpp placement_nodes_test.cpp
                    placement_moves_test.cpp placement_exchange_test.cpp placement_page_moves_test.cpp placement_regions_test.cpp placement_runs_test.cpp placement_room_test.cpp
                    LINK omptier_placement)
omptier_unit_test(job SOURCES job_test.cpp job_ledger_test.cpp job_waits_test.cpp LINK omptier_placement)
