! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! An array in memory of OMPTier; fails on a runtime that is not OMPTier's.
program downstream
  use ompx_memory
  use, intrinsic :: iso_c_binding, only: c_loc
  implicit none
  real(real64), pointer :: values(:)
  type(ompx_placement) :: where
  call ompx_allocate(values, [131072], ompx_dram_mem_alloc)
  values = 1
  if (ompx_get_placement(c_loc(values), 0_c_size_t, where) /= 0) error stop 1
  print '(a)', ompx_reason(where)
  call ompx_deallocate(values)
  if (where%required /= 1) error stop 1
end program downstream
