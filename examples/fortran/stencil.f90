! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Heat in a plate: two fields that every step streams through, in the memory of highest bandwidth
! that has room, and a mask that is rarely read, anywhere. Prints where they are and the heat left;
! the result does not depend on placement.
program stencil
  use ompx_memory
  use, intrinsic :: iso_c_binding, only: c_loc
  implicit none
  integer, parameter :: n = 1000, steps = 50
  real(real64), pointer :: now(:,:), next(:,:), swap(:,:)
  integer(int32), pointer :: mask(:,:)
  integer(ompx_handle_kind) :: fields, rest
  integer :: i, j, step

  fields = ompx_init_allocator(ompx_auto_mem_space, &
    [ompx_trait(ompx_atk_access_pattern, ompx_atv_access_pattern_sequential), &
     ompx_trait(ompx_atk_sensitivity, ompx_atv_sensitivity_bandwidth), &
     ompx_trait(ompx_atk_importance, 900_ompx_value_kind), &
     ompx_trait(ompx_atk_label, ompx_name('fields'))])
  rest = ompx_init_allocator(ompx_auto_mem_space, &
    [ompx_trait(ompx_atk_sensitivity, ompx_atv_sensitivity_none)])
  call ompx_allocate(now, [n, n], fields)
  call ompx_allocate(next, [n, n], fields)
  call ompx_allocate(mask, [n, n], rest)

  !$omp parallel do private(i)
  do j = 1, n
    do i = 1, n
      now(i, j) = merge(1, 0, i > n / 4 .and. i < n / 2 .and. j > n / 4 .and. j < n / 2)
      next(i, j) = 0
      mask(i, j) = merge(0, 1, i == 1 .or. i == n .or. j == 1 .or. j == n)
    end do
  end do
  do step = 1, steps
    !$omp parallel do private(i)
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = now(i, j) + mask(i, j) * 0.125d0 * (now(i - 1, j) + now(i + 1, j) + &
                     now(i, j - 1) + now(i, j + 1) - 4 * now(i, j))
      end do
    end do
    swap => now
    now => next
    next => swap
  end do

  call show('fields', c_loc(now))
  call show('mask', c_loc(mask))
  print '(a, i0)', 'heat left: ', nint(sum(now))
  if (nint(sum(now)) /= (n / 4 - 1)**2) error stop 'heat was lost'
  call ompx_deallocate(now)
  call ompx_deallocate(next)
  call ompx_deallocate(mask)
  call ompx_destroy_allocator(fields)
  call ompx_destroy_allocator(rest)

contains

  subroutine show(name, address)
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    type(ompx_placement) :: where
    if (ompx_get_placement(address, 0_c_size_t, where) == 0) print '(a, 1x, a)', name, ompx_reason(where)
  end subroutine
end program stencil
