! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! The Fortran module: arrays of every type and rank on an allocator, in the memory asked for; names,
! errors, placement as text, declare and commit. Stops with a message at the first difference.
program headers_arrays
  use ompx_memory
  use, intrinsic :: iso_c_binding, only: c_associated, c_int, c_loc, c_null_ptr
  implicit none
  integer(c_int), parameter :: atk_fallback = 5, atk_alignment = 2 ! omp_lib's numbers
  integer(ompx_value_kind), parameter :: atv_null_fb = 12
  integer :: checks = 0
  integer(ompx_handle_kind) :: dram, none

  dram = ompx_init_allocator(ompx_dram_mem_space, &
    [ompx_trait(ompx_atk_label, ompx_name('fields  ')), &
     ompx_trait(ompx_atk_access_pattern, ompx_atv_access_pattern_sequential), &
     ompx_trait(atk_alignment, 64_ompx_value_kind)])
  call check(dram /= ompx_null_allocator, 'allocator')
  call check(ompx_name('two words') == 0, 'a name with a blank')
  call check(ompx_name('fields') == ompx_name('fields '), 'blanks at the end of a name')
  call ranks()
  call more_ranks()
  call moved()
  call shapes()
  call errors()
  call declared()
  call in_chunks()
  call check(ompx_phase('end of it') == -1, 'phase with blanks')
  call check(ompx_phase('end') == 0, 'phase')
  call check(ompx_end_phase() == 0, 'end of the phase')
  call ompx_destroy_allocator(dram)
  print '(a, i0, a)', 'arrays hold, ', checks, ' checks'

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    checks = checks + 1
    if (good) return
    print '(a, i0, 2a)', 'check ', checks, ': ', what
    error stop 1
  end subroutine

  subroutine ranks()
    real(real64), pointer :: a1(:), a2(:,:), a3(:,:,:)
    real(real32), pointer :: b1(:), b2(:,:), b3(:,:,:)
    integer(int32), pointer :: i1(:), i2(:,:), i3(:,:,:)
    integer(int64), pointer :: l1(:), l2(:,:), l3(:,:,:)
    type(ompx_placement) :: where
    integer :: i
    call ompx_allocate(a1, [100000], dram)
    call ompx_allocate(a2, [300, 400], dram)
    call ompx_allocate(a3, [30, 40, 50], dram)
    call ompx_allocate(b1, 100000_int64, dram)
    call ompx_allocate(b2, [3, 4], dram)
    call ompx_allocate(b3, [3, 4, 5], dram)
    call ompx_allocate(i1, [10], dram)
    call ompx_allocate(i2, [3, 4], dram)
    call ompx_allocate(i3, [3, 4, 5], dram)
    call ompx_allocate(l1, [10], dram)
    call ompx_allocate(l2, [3, 4], dram)
    call ompx_allocate(l3, [3, 4, 5], dram)
    call check(all(shape(a3) == [30, 40, 50]) .and. all(lbound(a3) == 1), 'shape')
    call check(size(b1) == 100000 .and. size(l3) == 60, 'size')
    a1 = [(real(i, real64), i = 1, size(a1))]
    a2 = 2; a3 = 3; b1 = 4; b2 = 5; b3 = 6; i1 = 7; i2 = 8; i3 = 9; l1 = 10; l2 = 11; l3 = 12
    call check(sum(a1) == 5000050000d0 .and. sum(a2) == 240000 .and. sum(a3) == 180000, 'sums')
    call check(sum(b1) == 400000 .and. sum(b3) == 360 .and. sum(i3) == 540, 'sums')
    call check(sum(l1) == 100 .and. sum(l3) == 720, 'sums')
    call check(ompx_get_placement(c_loc(a2), 0_c_size_t, where) == 0, 'placement')
    call check(where%wanted_kind == ompx_kind_dram .and. where%required == 1, 'kind')
    call check(where%block_bytes == 300 * 400 * 8, 'bytes of the block')
    call check(where%bytes(ompx_kind_dram) == where%block_bytes, 'pages')
    call check(index(ompx_reason(where), 'DRAM') == 1, ompx_reason(where))
    call ompx_deallocate(a1)
    call ompx_deallocate(a2)
    call ompx_deallocate(a3)
    call ompx_deallocate(b1)
    call ompx_deallocate(b2)
    call ompx_deallocate(b3)
    call ompx_deallocate(i1)
    call ompx_deallocate(i2)
    call ompx_deallocate(i3)
    call ompx_deallocate(l1)
    call ompx_deallocate(l2)
    call ompx_deallocate(l3)
    call check(.not. associated(a1) .and. .not. associated(l3), 'nullified')
    call ompx_deallocate(a1)
  end subroutine

  subroutine more_ranks()
    complex(real32), pointer :: c4(:,:,:,:)
    complex(real64), pointer :: c1(:), c7(:,:,:,:,:,:,:)
    real(real64), pointer :: a5(:,:,:,:,:)
    integer(int64), pointer :: l6(:,:,:,:,:,:)
    type(ompx_placement) :: where
    call ompx_allocate(c1, 9_int64, dram)
    call ompx_allocate(c4, [2, 3, 4, 5], dram)
    call ompx_allocate(a5, [2, 3, 4, 5, 6], dram)
    call ompx_allocate(l6, [2, 3, 4, 5, 6, 7], dram)
    call ompx_allocate(c7, [2, 3, 4, 5, 6, 7, 8], dram)
    call check(all(shape(c7) == [2, 3, 4, 5, 6, 7, 8]) .and. size(c1) == 9, 'shape of rank 7')
    call check(ompx_get_placement(c_loc(c7), 0_c_size_t, where) == 0, 'placement')
    call check(where%block_bytes == 40320 * 16, 'bytes of complex numbers')
    call check(ompx_get_placement(c_loc(c4), 0_c_size_t, where) == 0, 'placement')
    call check(where%block_bytes == 120 * 8, 'bytes of short complex numbers')
    c1 = (1, 1); c4 = (1, 2); a5 = 3; l6 = 4; c7 = (5, 6)
    call check(nint(aimag(sum(c7))) == 241920 .and. nint(real(sum(c4))) == 120, 'sums')
    call check(sum(l6) == 20160 .and. nint(sum(a5)) == 2160 .and. nint(aimag(sum(c1))) == 9, 'sums')
    call ompx_deallocate(c1)
    call ompx_deallocate(c4)
    call ompx_deallocate(a5)
    call ompx_deallocate(l6)
    call ompx_deallocate(c7)
    call check(.not. associated(c7) .and. .not. associated(c1), 'nullified')
  end subroutine

  subroutine moved()
    real(real64), save, target :: static(100000)
    type(ompx_placement) :: where
    integer(c_int) :: result
    static = 1
    result = ompx_place_range(c_loc(static), 800000_c_size_t, ompx_dram_mem_alloc)
    call check(ompx_get_placement(c_loc(static), 800000_c_size_t, where) == 0, 'where it is')
    if (result == ompx_success) then
      call check(where%bytes(ompx_kind_dram) >= 800000 - 2 * 65536, 'a static array placed')
    else ! containers may forbid it
      call check(result == ompx_error_errno, 'a static array not placed')
    end if
    call check(nint(sum(static)) == 100000, 'its content')
    result = ompx_place_range(c_null_ptr, 800000_c_size_t, ompx_dram_mem_alloc)
    call check(result == ompx_error_errno, 'no array placed')
  end subroutine

  subroutine shapes()
    real(real64), pointer :: a(:,:), shifted(:,:)
    call ompx_allocate(a, [0, 5], dram)
    call check(size(a) == 0 .and. size(a, 2) == 5, 'nothing')
    call ompx_deallocate(a)
    call ompx_allocate(a, [8, 8], dram)
    shifted(-3:, 0:) => a
    shifted = 1
    call check(sum(a) == 64, 'other bounds')
    call ompx_deallocate(shifted)
  end subroutine

  subroutine errors()
    real(real64), pointer :: a(:)
    integer(int32), pointer :: huge_one(:,:,:)
    integer :: stat
    none = ompx_init_allocator(ompx_cxl_mem_space, [ompx_trait(atk_fallback, atv_null_fb)])
    call ompx_allocate(a, [10], none, stat)
    call check(stat == 1 .and. .not. associated(a), 'no memory')
    call ompx_allocate(a, [10], dram, stat)
    call check(stat == 0 .and. associated(a), 'memory')
    call ompx_allocate(huge_one, [4195517, 2097728, 2095970], dram, stat) ! 2**64 + 33983104
    call check(stat == 1 .and. .not. associated(huge_one), 'more elements than can be counted')
    call ompx_allocate(huge_one, [4194304, 2097152, 2097152], dram, stat) ! 2**64
    call check(stat == 1 .and. .not. associated(huge_one), 'as many as wrap to none')
    call ompx_deallocate(a)
    call ompx_destroy_allocator(none)
    none = ompx_init_allocator(ompx_dram_mem_space, [ompx_trait(4999_c_int, 1_ompx_value_kind)])
    call check(none == ompx_null_allocator, 'unknown key')
  end subroutine

  subroutine declared()
    type(c_ptr), target :: grid, table, back
    real(real64), pointer :: g(:,:), t(:)
    type(ompx_outcome) :: outcome
    type(ompx_trait) :: hot(1), no_traits(0)
    hot = [ompx_trait(ompx_atk_importance, 500_ompx_value_kind)]
    call check(ompx_declare(grid, 8000000_c_size_t, ompx_auto_mem_space, 1, hot) == ompx_success, &
               'declare')
    call check(ompx_declare(table, 80000_c_size_t, ompx_auto_mem_space, 0, no_traits) == &
               ompx_success, 'declare')
    call check(ompx_declare(back, 8_c_size_t, ompx_auto_mem_space, 0, no_traits) == ompx_success, &
               'declare')
    call check(ompx_withdraw(back) == ompx_success, 'withdraw')
    call check(ompx_commit(ompx_order_density, outcome) <= ompx_incomplete, 'commit')
    call check(outcome%considered == 2, 'two blocks')
    call check(c_associated(grid) .and. c_associated(table), 'pointers')
    call c_f_pointer(grid, g, [1000, 1000])
    call c_f_pointer(table, t, [10000])
    g = 1
    t = 2
    call check(sum(g) + sum(t) == 1020000, 'sum')
    hot(1)%value = 5
    call check(ompx_update_traits(grid, 1, hot) == ompx_success, 'update')
    call check(ompx_apply(ompx_order_density, outcome) <= ompx_incomplete, 'apply')
    call ompx_free(grid, ompx_null_allocator)
    call ompx_free(table, ompx_null_allocator)
  end subroutine

  ! Each column becomes the sum of itself and its neighbours of before, in place, in chunks.
  subroutine in_chunks()
    integer, parameter :: n = 30, columns = 50
    real(real64), target :: field(n, columns)
    real(real64), pointer :: p(:,:)
    real(real64) :: before(n, 0:columns + 1)
    type(ompx_chunked_array) :: array
    type(ompx_chunk) :: chunk
    type(c_ptr) :: chunked
    integer :: j, first, last, count
    before = 0
    do j = 1, columns
      field(:, j) = real(j * j, real64)
    end do
    before(:, 1:columns) = field
    array%data = c_loc(field)
    array%rows = columns
    array%row_bytes = n * storage_size(field) / 8
    array%mode = ompx_atv_access_mode_read_write
    array%chunk_rows = 7
    array%halo_rows = 1
    array%allocator = ompx_dram_mem_alloc
    call check(ompx_chunked_begin(array, chunked) == ompx_success, 'begin')
    count = 0
    do
      call check(ompx_chunked_next(chunked, chunk) == ompx_success, 'next')
      if (.not. c_associated(chunk%data)) exit
      call check(chunk%copied == 1, 'copied')
      last = int(chunk%halo_before + chunk%rows + chunk%halo_after)
      first = int(chunk%halo_before)
      call c_f_pointer(chunk%with_halo, p, [n, last])
      call check(all(p == before(:, int(chunk%first_row) + 1 - first : &
                                    int(chunk%first_row) - first + last)), 'chunk and halo')
      do j = 1, int(chunk%rows)
        p(:, first + j) = before(:, int(chunk%first_row) + j - 1) + &
          before(:, int(chunk%first_row) + j) + before(:, int(chunk%first_row) + j + 1)
      end do
      count = count + 1
    end do
    call check(ompx_chunked_end(chunked) == ompx_success, 'end')
    call check(count == 8, 'chunks')
    call check(all(field == before(:, 0:columns - 1) + before(:, 1:columns) + &
                            before(:, 2:columns + 1)), 'what was written')
    array%chunk_rows = 0
    array%halo_rows = columns
    array%row_stride = 1
    call check(ompx_chunked_begin(array, chunked) == ompx_error_invalid_argument, 'refused')
  end subroutine
end program headers_arrays
