! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran's kinds of memory, all summed up equally often: a module's array, COMMON, SAVE, ALLOCATE, an automatic
! array. Prints the sums.
module fields
  implicit none
  integer, parameter :: n = 32768
  real(8), target :: rho(n) = 1
contains
  real(8) function sum_of(values)
    real(8), intent(in) :: values(n)
    integer :: round, i
    sum_of = 0
    do round = 1, 1200
      do i = 1, n
        sum_of = sum_of + values(i)
      end do
    end do
  end function
  real(8) function automatic(count)
    integer, intent(in) :: count
    real(8) :: work(count)
    work = 1
    automatic = sum_of(work)
  end function
end module

program record_memory
  use fields
  implicit none
  real(8) :: shared_values(n)
  common /shared/ shared_values
  real(8), save :: kept(n)
  real(8), allocatable :: dynamic(:)
  call sleep(1) ! sampling begins in the first tenth of a second
  allocate (dynamic(n))
  shared_values = 1
  kept = 1
  dynamic = 1
  print *, sum_of(rho), sum_of(shared_values), sum_of(kept), sum_of(dynamic), automatic(n)
end program
