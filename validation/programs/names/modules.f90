! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Fortran: several arrays in one statement, arrays of a module, components of derived types, pointers.
module fields
  implicit none
  type tile
    real(8), allocatable :: density0(:), energy0(:)
    real(8), pointer :: flux(:)
  end type
  type chunk
    type(tile) :: inner
    type(tile), allocatable :: tiles(:)
    real(8), allocatable :: volume(:)
  end type
  real(8), allocatable :: temperature(:), conductivity(:), mask(:)
  type(chunk) :: plate
contains
  subroutine make_fields(n)
    integer, intent(in) :: n
    allocate (temperature(n), conductivity(n + 1000), &
              mask(n + 2000))
    allocate (plate%volume(n + 3000), plate%tiles(2))
    call make_tile(plate%inner, n + 4000)
    allocate (plate%tiles(1)%density0(n + 5000), plate%tiles(2)%density0(n + 6000))
    allocate (plate%tiles(1)%flux(n + 7000)); allocate (plate%tiles(2)%flux(n + 8000))
  end subroutine

  subroutine make_tile(this, n)
    type(tile), intent(inout) :: this
    integer, intent(in) :: n
    allocate (this%density0(n), this%energy0(n + 100))
    allocate (this%flux(n + 200))
  end subroutine

  subroutine make(array, n)
    real(8), allocatable, intent(out) :: array(:)
    integer, intent(in) :: n
    allocate (array(n))
    array = 1
  end subroutine
end module

program modules
  use fields
  implicit none
  integer :: n = 100000
  real(8), allocatable :: left(:), right(:), sums(:), first(:), second(:)
  real(8), pointer :: window(:)
  real(8) :: sum_all
  call make_fields(n)
  call make(left, n + 9000)
  call make(right, n + 10000)
  allocate (window(n + 11000))
  sums = 2 * window
  allocate (first(n + 12000), second(n + 13000), source=1d0)
  temperature = 1; conductivity = 2; mask = 3; window = 4
  plate%volume = 5; plate%inner%density0 = 6; plate%inner%energy0 = 7; plate%inner%flux = 8
  plate%tiles(1)%density0 = 9; plate%tiles(2)%density0 = 10
  plate%tiles(1)%flux = 11; plate%tiles(2)%flux = 12
  sum_all = first(3) + sums(9) + mask(7) + &
    second(4) + left(5) + right(6) + temperature(5) + conductivity(6) + window(8) + plate%inner%flux(10)
  if (sum_all < 0) print *, sum_all
  call name("temperature", n)
  call name("conductivity", n + 1000)
  call name("mask", n + 2000)
  call name("plate%volume or plate%volume|plate%tiles", n + 3000)
  call name("plate%inner%density0", n + 4000)
  call name("plate%inner%energy0", n + 4100)
  call name("plate%inner%flux", n + 4200)
  call name("plate%tiles%density0", n + 5000)
  call name("plate%tiles%density0", n + 6000)
  call name("plate%tiles%flux", n + 7000)
  call name("plate%tiles%flux", n + 8000)
  call name("left", n + 9000)
  call name("right", n + 10000)
  call name("window+sums", n + 11000)
  call name("first or first|second", n + 12000)
  call name("second or first|second", n + 13000)
contains
  subroutine name(text, elements)
    character(*), intent(in) :: text
    integer, intent(in) :: elements
    print '(a, 1x, i0)', text, 8 * elements
  end subroutine
end program
