! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! The allocator routines through the omp_lib of gfortran and flang: allocators made with traits (in
! gfortran also with 8-byte integers), blocks as arrays, pools, fallbacks, realloc across allocators, the default allocator of
! threads. Stops with a message at the first difference.
program semantics_fortran
  use omp_lib
  use, intrinsic :: iso_c_binding
  implicit none
  integer(omp_memspace_handle_kind), parameter :: dram_space = 501
  integer(omp_allocator_handle_kind), parameter :: dram = 501
  integer(omp_alloctrait_key_kind), parameter :: label = 5010
  integer :: checks = 0

  call alignment()
#ifdef __GFORTRAN__
  call eight_byte_count()
#endif
  call pool()
  call zeroed()
  call resized()
  call fallback()
  call refused()
  call default_allocator()
  call in_threads()
  print '(a, i0, a)', 'fortran holds, ', checks, ' checks'

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    checks = checks + 1
    if (good) return
    print '(a, i0, 2a)', 'check ', checks, ': ', what
    error stop 1
  end subroutine

  function address(block) result(number)
    type(c_ptr), intent(in) :: block
    integer(c_intptr_t) :: number
    number = transfer(block, number)
  end function

  subroutine alignment()
    integer(omp_allocator_handle_kind) :: a
    type(c_ptr) :: block
    real(c_double), pointer :: values(:)
    integer :: i
    do i = 4, 24, 4
      a = omp_init_allocator(dram_space, 1, &
        [omp_alloctrait(omp_atk_alignment, 2_omp_alloctrait_val_kind ** i)])
      call check(a /= omp_null_allocator, 'allocator')
      block = omp_alloc(80000_c_size_t, a)
      call check(c_associated(block), 'block')
      call check(mod(address(block), 2_c_intptr_t ** i) == 0, 'alignment')
      call c_f_pointer(block, values, [10000])
      values = i
      call check(sum(values) == 10000d0 * i, 'values')
      call omp_free(block, a)
      block = omp_aligned_alloc(4096_c_size_t, 100_c_size_t, a)
      call check(mod(address(block), 4096_c_intptr_t) == 0, 'alignment of the call')
      call omp_free(block, omp_null_allocator)
      call omp_destroy_allocator(a)
    end do
  end subroutine

#ifdef __GFORTRAN__
  subroutine eight_byte_count()
    integer(omp_allocator_handle_kind) :: a
    integer(8) :: count
    count = 1
    a = omp_init_allocator(dram_space, count, [omp_alloctrait(omp_atk_alignment, 256)])
    call check(mod(address(omp_alloc(10_c_size_t, a)), 256_c_intptr_t) == 0, '8-byte count')
  end subroutine
#endif

  subroutine pool()
    integer(omp_allocator_handle_kind) :: a
    type(c_ptr) :: one, two
    a = omp_init_allocator(dram_space, 2, [omp_alloctrait(omp_atk_pool_size, 1000), &
                                           omp_alloctrait(omp_atk_fallback, omp_atv_null_fb)])
    one = omp_alloc(600_c_size_t, a)
    two = omp_alloc(400_c_size_t, a)
    call check(c_associated(one) .and. c_associated(two), 'the pool holds its bytes')
    call check(.not. c_associated(omp_alloc(1_c_size_t, a)), 'and no more')
    call omp_free(one, a)
    call check(c_associated(omp_alloc(600_c_size_t, a)), 'given back')
    call omp_free(c_null_ptr, a)
    call check(.not. c_associated(omp_alloc(0_c_size_t, a)), 'nothing')
  end subroutine

  subroutine zeroed()
    type(c_ptr) :: block
    integer(c_int), pointer :: values(:)
    integer :: round
    do round = 1, 3
      block = omp_calloc(1000_c_size_t, 4_c_size_t, dram)
      call c_f_pointer(block, values, [1000])
      call check(all(values == 0), 'calloc')
      values = 7
      call omp_free(block, dram)
      block = omp_aligned_calloc(512_c_size_t, 1000_c_size_t, 4_c_size_t, dram)
      call c_f_pointer(block, values, [1000])
      call check(all(values == 0) .and. mod(address(block), 512_c_intptr_t) == 0, 'aligned calloc')
      values = 9
      call omp_free(block, dram)
    end do
  end subroutine

  subroutine resized()
    type(c_ptr) :: block
    integer(c_int), pointer :: values(:)
    integer :: i
    block = omp_alloc(4000_c_size_t, dram)
    call c_f_pointer(block, values, [1000])
    values = [(i, i = 1, 1000)]
    block = omp_realloc(block, 400000_c_size_t, omp_default_mem_alloc, dram)
    call c_f_pointer(block, values, [100000])
    call check(all(values(1:1000) == [(i, i = 1, 1000)]), 'to the default allocator')
    values = 3
    block = omp_realloc(block, 2000_c_size_t, dram, omp_default_mem_alloc)
    call c_f_pointer(block, values, [500])
    call check(all(values == 3), 'and back')
    block = omp_realloc(block, 0_c_size_t, dram, dram)
    call check(.not. c_associated(block), 'size 0')
  end subroutine

  subroutine fallback()
    integer(omp_allocator_handle_kind) :: a, b
    type(c_ptr) :: block
    b = omp_init_allocator(dram_space, 1, [omp_alloctrait(omp_atk_alignment, 8192)])
    a = omp_init_allocator(dram_space, 3, [omp_alloctrait(omp_atk_pool_size, 100), &
      omp_alloctrait(omp_atk_fallback, omp_atv_allocator_fb), omp_alloctrait(omp_atk_fb_data, b)])
    block = omp_alloc(5000_c_size_t, a)
    call check(mod(address(block), 8192_c_intptr_t) == 0, 'of the fallback allocator')
    call omp_free(block, a)
  end subroutine

  subroutine refused()
    integer(omp_allocator_handle_kind) :: a
    a = omp_init_allocator(dram_space, 1, [omp_alloctrait(label, 12345)])
    call check(a == omp_null_allocator, 'a label that is no name')
    a = omp_init_allocator(omp_default_mem_space, 1, [omp_alloctrait(omp_atk_alignment, 48)])
    call check(a == omp_null_allocator, 'an alignment that is no power of two')
    a = omp_init_allocator(omp_default_mem_space, 1, &
                           [omp_alloctrait(omp_atk_alignment, omp_atv_default)])
    call check(a /= omp_null_allocator, 'omp_atv_default')
  end subroutine

  subroutine default_allocator()
    call check(omp_get_default_allocator() == omp_default_mem_alloc, 'at first')
    call omp_set_default_allocator(dram)
    call check(omp_get_default_allocator() == dram, 'set')
    call omp_set_default_allocator(omp_default_mem_alloc)
  end subroutine

  subroutine in_threads()
    integer(omp_allocator_handle_kind) :: a
    type(c_ptr) :: block
    integer(c_int), pointer :: values(:)
    integer :: wrong, i
    wrong = 0
    a = omp_init_allocator(dram_space, 1, [omp_alloctrait(omp_atk_alignment, 128)])
    !$omp parallel num_threads(4) private(block, values, i) reduction(+: wrong)
    call omp_set_default_allocator(a)
    do i = 1, 200
      block = omp_alloc(int(i * 400, c_size_t), omp_null_allocator)
      if (mod(address(block), 128_c_intptr_t) /= 0) wrong = wrong + 1
      call c_f_pointer(block, values, [i * 100])
      values = omp_get_thread_num() + i
      if (any(values /= omp_get_thread_num() + i)) wrong = wrong + 1
      call omp_free(block, omp_null_allocator)
    end do
    !$omp end parallel
    call check(wrong == 0, 'in threads')
  end subroutine

end program semantics_fortran
