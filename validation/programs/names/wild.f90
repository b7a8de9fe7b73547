! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran as people write it: type-bound procedures, functions, automatic reallocation, several arrays with a status.
module meshes
  implicit none
  integer, parameter :: dp = kind(1d0)
  type :: mesh_t
    real(dp), allocatable :: x(:), y(:), z(:)
    real(dp), pointer :: area(:) => null()
  contains
    procedure :: init => mesh_init
  end type
  type :: domain_t
    type(mesh_t) :: coarse
    type(mesh_t), pointer :: fine
  end type
contains
  subroutine mesh_init(self, n)
    class(mesh_t), intent(inout) :: self
    integer, intent(in) :: n
    integer :: ierr
    allocate(self%x(n), self%y(n + 10), self%z(n + 20), stat=ierr)
    if (ierr /= 0) stop 1
    if (.not. associated(self%area)) allocate(self%area(n + 30))
    self%x = 0; self%y = 0; self%z = 0; self%area = 0
  end subroutine mesh_init

  function linspace(n) result(values)
    integer, intent(in) :: n
    real(dp), allocatable :: values(:)
    integer :: i
    allocate(values(n))
    do i = 1, n
      values(i) = i
    end do
  end function

  subroutine scratch_work(n, total)
    integer, intent(in) :: n
    real(dp), intent(inout) :: total
    real(dp), allocatable :: tmp(:)
    allocate(tmp(n))
    tmp = total
    total = total + tmp(n / 2)
  end subroutine
end module

program wild
  use meshes
  implicit none
  type(domain_t) :: domain
  type(mesh_t) :: other
  real(dp), allocatable :: nodes(:), a(:,:), b(:), &
                           c(:)
  real(dp) :: total = 1
  integer :: n = 100000
  call domain%coarse%init(n)
  allocate(domain%fine)
  call domain%fine%init(n + 100)
  call mesh_init(other, n + 200)
  nodes = linspace(n + 300)
  call scratch_work(n + 400, total)
  call scratch_work(n + 500, total)
  ALLOCATE(a(10, (n + 600) / 10)); ALLOCATE(b(n + 700), &
    c(n + 800))
  a = 1; b = 2; c = 3
  if (total + a(1, 2) + b(3) + c(4) + nodes(5) < 0) print *, other%x, domain%coarse%y, domain%fine%z
  call name("domain%coarse%x", n)
  call name("domain%coarse%y", n + 10)
  call name("domain%coarse%z", n + 20)
  call name("domain%coarse%area", n + 30)
  call name("domain%fine%x", n + 100)
  call name("domain%fine%y", n + 110)
  call name("domain%fine%z", n + 120)
  call name("domain%fine%area", n + 130)
  call name("other%x", n + 200)
  call name("other%y", n + 210)
  call name("other%z", n + 220)
  call name("other%area", n + 230)
  call name("nodes+values", n + 300)
  call name("tmp", n + 400)
  call name("tmp", n + 500)
  call name("a or a|b|c", n + 600)
  call name("b or a|b|c", n + 700)
  call name("c or a|b|c", n + 800)
contains
  subroutine name(text, elements)
    character(*), intent(in) :: text
    integer, intent(in) :: elements
    print '(a, 1x, i0)', text, 8 * elements
  end subroutine
end program
