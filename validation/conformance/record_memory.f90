! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran's kinds of memory, all summed up equally often: a module's array, COMMON, SAVE, ALLOCATE, an automatic
! array. They take turns, so that a machine that is slow for a while is slow for all of them. Prints the sums.
module fields
  implicit none
  integer, parameter :: n = 32768, turns = 180
  real(8), target :: rho(n) = 1
contains
  real(8) function sum_of(values)
    real(8), intent(in) :: values(n)
    integer :: round, i
    sum_of = 0
    do round = 1, 7200 / turns
      do i = 1, n
        sum_of = sum_of + values(i)
      end do
    end do
  end function
  subroutine take_turns(shared_values, kept, dynamic, sums)
    real(8), intent(in) :: shared_values(n), kept(n), dynamic(:)
    real(8), intent(out) :: sums(5)
    real(8) :: work(size(dynamic))
    integer :: turn
    work = 1
    sums = 0
    do turn = 1, turns
      sums = sums + [sum_of(rho), sum_of(shared_values), sum_of(kept), sum_of(dynamic), sum_of(work)]
    end do
  end subroutine
end module

program record_memory
  use fields
  implicit none
  real(8) :: shared_values(n)
  common /shared/ shared_values
  real(8), save :: kept(n)
  real(8), allocatable :: dynamic(:)
  real(8) :: sums(5)
  call sleep(1) ! sampling begins in the first tenth of a second
  allocate (dynamic(n))
  shared_values = 1
  kept = 1
  dynamic = 1
  call take_turns(shared_values, kept, dynamic, sums)
  print *, sums
end program
