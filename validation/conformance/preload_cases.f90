! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran: an allocatable array, a COMMON block, a module's array, without a word of OMPTier. Prints sums
! and nothing of the machine; what the pages did is read from the runtime's own count (preload.py).
module fields
  implicit none
  double precision :: hot_module(300000)
end module fields

program preload_cases
  use fields
  implicit none
  double precision :: cold_common(300000)
  common /cold_block/ cold_common
  double precision, allocatable :: hot_array(:), cold_array(:)
  integer :: i, n
  n = 300000
  allocate(hot_array(n))
  allocate(cold_array(2 * n))
  !$omp parallel do
  do i = 1, n
    hot_array(i) = i
    cold_array(i) = 2 * i
    cold_array(n + i) = 3 * i
    hot_module(i) = 4 * i
    cold_common(i) = 5 * i
  end do
  !$omp end parallel do
  print '(5es12.4)', sum(hot_array), sum(cold_array), sum(hot_module), sum(cold_common), hot_module(n)
  deallocate(hot_array)
  deallocate(cold_array)
end program preload_cases
