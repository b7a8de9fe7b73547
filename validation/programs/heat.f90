! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! A heat solver: the temperature of a plate with a conductivity that varies, and tiles of a material
! with a density and an energy each that the heat flows into.
!
! usage: heat [cells of a side 4096] [steps 24] [--truth FILE [--alone]]
module plate
  implicit none
  integer, parameter :: tile_count = 8
  real(8), allocatable :: temperature(:,:), conductivity(:,:)
  type tile
    real(8), allocatable :: density0(:,:), energy0(:,:), flux(:,:)
  end type
  type(tile) :: tiles(tile_count)
contains
  subroutine make_plate(n)
    integer, intent(in) :: n
    integer :: i
    allocate (temperature(n, n), conductivity(n, n))
    temperature = 0
    conductivity = 0.1d0
    temperature(n / 2, n / 2) = 1000
    do i = 1, tile_count
      allocate (tiles(i)%density0(n / 2, n / 8), tiles(i)%energy0(n / 2, n / 8), tiles(i)%flux(n / 2, n / 8))
      tiles(i)%density0 = i
      tiles(i)%energy0 = 2.5d0
      tiles(i)%flux = 0
    end do
  end subroutine

  subroutine diffuse(n)
    integer, intent(in) :: n
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        temperature(i, j) = temperature(i, j) + conductivity(i, j) * (temperature(i, j - 1) &
                            + temperature(i, j + 1) - 2 * temperature(i, j))
      end do
    end do
  end subroutine

  subroutine heat_tiles()
    integer :: i
    do i = 1, tile_count
      call heat_tile(tiles(i)%density0, tiles(i)%energy0, tiles(i)%flux)
    end do
  end subroutine

  subroutine heat_tile(density, energy, flux)
    real(8), intent(in) :: density(:,:)
    real(8), intent(inout) :: energy(:,:), flux(:,:)
    integer :: i, j
    do j = 1, size(density, 2)
      do i = 1, size(density, 1)
        flux(i, j) = density(i, j) * 0.5d0
        energy(i, j) = energy(i, j) + flux(i, j)
      end do
    end do
  end subroutine
end module plate

program heat
  use plate
  use truth
  implicit none
  integer :: n = 4096, steps = 24, step
  real(8) :: begin, filled, before, diffusing = 0, heating = 0
  character(len=200) :: text

  begin = truth_clock()
  call get_command_argument(1, text)
  if (text /= '' .and. text(1:1) /= '-') then
    read (text, *) n
    call get_command_argument(2, text)
    if (text /= '' .and. text(1:1) /= '-') read (text, *) steps
  end if
  call make_plate(n)
  filled = truth_clock()
  do step = 1, steps
    before = truth_clock()
    call diffuse(n)
    diffusing = diffusing + truth_clock() - before
    before = truth_clock()
    call heat_tiles()
    call heat_tiles()
    heating = heating + truth_clock() - before
  end do
  print '(a, es12.4, es12.4)', 'heat', temperature(n / 2, n / 2), sum(tiles(1)%energy0(:, 1))
  call tell()
contains
  ! A use whose time goes by its bytes.
  subroutine weighed(loop, object, read, written)
    integer(c_int), intent(in) :: loop, object
    real(8), intent(in) :: read, written
    call truth_weight(truth_use(loop, object, read, written), read + written)
  end subroutine

  subroutine tell()
    integer(c_int) :: objects(5), uses(5), loop
    integer(c_size_t) :: whole, part
    real(8) :: cells, inner, all, times, seconds(3)
    character(len=200) :: file, alone
    integer :: i, round, count

    count = command_argument_count()
    alone = ''
    file = ''
    do i = 1, count
      call get_command_argument(i, text)
      if (text == '--truth' .and. i < count) call get_command_argument(i + 1, file)
      if (text == '--alone') alone = text
    end do
    if (file == '') return
    whole = 8_c_size_t * n * n
    part = 8_c_size_t * (n / 2) * (n / 8)
    objects(1) = truth_object('temperature' // c_null_char, whole, 1_c_size_t, 'sequential' // c_null_char)
    objects(2) = truth_object('conductivity' // c_null_char, whole, 1_c_size_t, 'sequential' // c_null_char)
    objects(3) = truth_object('density0' // c_null_char, part, 8_c_size_t, 'sequential' // c_null_char)
    objects(4) = truth_object('energy0' // c_null_char, part, 8_c_size_t, 'sequential' // c_null_char)
    objects(5) = truth_object('flux' // c_null_char, part, 8_c_size_t, 'sequential' // c_null_char)
    if (7 * whole / 2 > 2 * truth_last_level_cache()) call truth_from_cache(objects(2), 0d0)

    cells = real(whole)
    all = real(tile_count * part)
    inner = 8d0 * (n - 2) * (n - 2)
    times = steps
    loop = truth_loop('fill' // c_null_char, filled - begin)
    do i = 1, 5
      call weighed(loop, objects(i), 0d0, merge(cells, all, i < 3))
    end do
    loop = truth_loop('diffuse' // c_null_char, diffusing)
    uses(1) = truth_use(loop, objects(1), times * 3 * inner, times * inner)
    uses(2) = truth_use(loop, objects(2), times * inner, 0d0)
    loop = truth_loop('tiles' // c_null_char, heating)
    uses(3) = truth_use(loop, objects(3), 2 * times * all, 0d0)
    uses(4) = truth_use(loop, objects(4), 2 * times * all, 2 * times * all)
    uses(5) = truth_use(loop, objects(5), 0d0, 2 * times * all)
    do round = 1, merge(5, 0, alone /= '')
      call truth_alone(uses(1), truth_write_lines(temperature, whole))
      call truth_alone(uses(2), truth_read_lines(conductivity, whole))
      seconds = 0
      do i = 1, tile_count
        seconds(1) = seconds(1) + truth_read_lines(tiles(i)%density0, part)
        seconds(2) = seconds(2) + truth_write_lines(tiles(i)%energy0, part)
        seconds(3) = seconds(3) + truth_write_lines(tiles(i)%flux, part)
      end do
      do i = 1, 3
        call truth_alone(uses(2 + i), seconds(i))
      end do
    end do
    if (truth_write(trim(file) // c_null_char, 'heat' // c_null_char) /= 0) stop 1
  end subroutine
end program heat
