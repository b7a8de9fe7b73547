! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! held_names_cases.c in Fortran: arrays of one ALLOCATE, of a module and of a COMMON block.
module fields
  implicit none
  real(8) :: rho(131072)
end module fields

program held
  use fields
  implicit none
  real(8), allocatable :: u(:), v(:)
  real(8) :: shared(131072)
  common /block/ shared
  integer :: i, step
  allocate(u(131072), v(131072))
  u = 1
  v = 2
  rho = 3
  shared = 4
  do step = 1, 200
    !$omp parallel do
    do i = 1, size(u)
      u(i) = u(i) + 0.5 * v(i) + rho(i) * shared(i)
    end do
  end do
  if (u(1) < 0) print *, u(1)
end program held
