# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(migration SOURCES region_moves_test.cpp migration_rounds_test.cpp migration_visits_test.cpp LINK omptier_migration)
