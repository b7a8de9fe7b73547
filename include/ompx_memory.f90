! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! OMPTier for Fortran 2018: allocators, traits and placement as in ompx_memory.h, and arrays on an
! allocator. Compile this file with your program and link OpenMP and libomptier:
!
!     gfortran -fopenmp ompx_memory.f90 program.f90 -lomptier
!
!     use ompx_memory
!     real(real64), pointer :: grid(:,:)
!     integer(ompx_handle_kind) :: fast
!     fast = ompx_init_allocator(ompx_auto_mem_space, &
!              [ompx_trait(ompx_atk_access_pattern, ompx_atv_access_pattern_random), &
!               ompx_trait(ompx_atk_label, ompx_name('grid'))])
!     call ompx_allocate(grid, [1000, 1000], fast)
!     ...
!     call ompx_deallocate(grid)
!
! Handles, spaces and traits have the numbers and kinds of omp_lib, so omp_lib's routines accept
! them (omp_allocator_handle_kind and omp_memspace_handle_kind are c_intptr_t,
! omp_alloctrait_key_kind is c_int). The module does not use omp_lib, so it works with that of every
! compiler.
!
! ompx_memory.h documents each routine in detail, and its errors. Not here: ompx_place_range. Sizes
! are in bytes unless stated otherwise. All routines are thread-safe, except that a call must not
! change a pointer or structure while another call uses it.
!
! This is one file because users compile it with theirs. The bodies behind ompx_allocate repeat for
! each type and rank: Fortran 2018 has no procedure generic in both. The untyped part is block_for.
module ompx_memory
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_int32_t, c_intptr_t, c_loc, &
    c_null_char, c_null_ptr, c_ptr, c_size_t, c_associated
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private

  integer, parameter, public :: ompx_handle_kind = c_intptr_t ! allocators and memory spaces
  integer, parameter, public :: ompx_value_kind = c_intptr_t  ! trait values

  public :: int32, int64, real32, real64, c_ptr, c_size_t, c_f_pointer
  public :: ompx_trait, ompx_placement, ompx_outcome
  public :: ompx_init_allocator, ompx_destroy_allocator, ompx_alloc, ompx_free, ompx_name
  public :: ompx_get_placement, ompx_reason, ompx_dump, ompx_phase
  public :: ompx_declare, ompx_withdraw, ompx_commit
  public :: ompx_update_traits, ompx_update_allocator, ompx_apply
  public :: ompx_allocate, ompx_deallocate

  ! Memory spaces and predefined allocators, 500 to 504; the standard ones are in omp_lib.
  integer(ompx_handle_kind), parameter, public :: ompx_auto_mem_space = 500
  integer(ompx_handle_kind), parameter, public :: ompx_dram_mem_space = 501
  integer(ompx_handle_kind), parameter, public :: ompx_hbm_mem_space = 502
  integer(ompx_handle_kind), parameter, public :: ompx_nvm_mem_space = 503
  integer(ompx_handle_kind), parameter, public :: ompx_cxl_mem_space = 504
  integer(ompx_handle_kind), parameter, public :: ompx_null_allocator = 0
  integer(ompx_handle_kind), parameter, public :: ompx_auto_mem_alloc = 500
  integer(ompx_handle_kind), parameter, public :: ompx_dram_mem_alloc = 501
  integer(ompx_handle_kind), parameter, public :: ompx_hbm_mem_alloc = 502
  integer(ompx_handle_kind), parameter, public :: ompx_nvm_mem_alloc = 503
  integer(ompx_handle_kind), parameter, public :: ompx_cxl_mem_alloc = 504

  ! Trait keys of OMPTier, from 5000.
  integer(c_int), parameter, public :: ompx_atk_access_pattern = 5000
  integer(c_int), parameter, public :: ompx_atk_access_stride = 5001
  integer(c_int), parameter, public :: ompx_atk_access_mode = 5002
  integer(c_int), parameter, public :: ompx_atk_access_frequency = 5003
  integer(c_int), parameter, public :: ompx_atk_access_origin = 5004
  integer(c_int), parameter, public :: ompx_atk_importance = 5005
  integer(c_int), parameter, public :: ompx_atk_sensitivity = 5006
  integer(c_int), parameter, public :: ompx_atk_placement = 5007
  integer(c_int), parameter, public :: ompx_atk_lifetime = 5008
  integer(c_int), parameter, public :: ompx_atk_group = 5009
  integer(c_int), parameter, public :: ompx_atk_label = 5010
  integer(c_int), parameter, public :: ompx_atk_migratable = 5011

  ! The values of the k-th key begin at 5100 + 20 k.
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_pattern_sequential = 5100
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_pattern_strided = 5101
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_pattern_tiled = 5102
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_pattern_random = 5103
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_pattern_pointer_chase = 5104
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_mode_read_only = 5140
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_mode_read_mostly = 5141
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_mode_read_write = 5142
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_mode_write_mostly = 5143
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_mode_write_only = 5144
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_origin_single_thread = 5180
  integer(ompx_value_kind), parameter, public :: ompx_atv_access_origin_multiple_threads = 5181
  integer(ompx_value_kind), parameter, public :: ompx_atv_sensitivity_latency = 5220
  integer(ompx_value_kind), parameter, public :: ompx_atv_sensitivity_bandwidth = 5221
  integer(ompx_value_kind), parameter, public :: ompx_atv_sensitivity_both = 5222
  integer(ompx_value_kind), parameter, public :: ompx_atv_sensitivity_none = 5223
  integer(ompx_value_kind), parameter, public :: ompx_atv_placement_required = 5240
  integer(ompx_value_kind), parameter, public :: ompx_atv_placement_preferred = 5241
  integer(ompx_value_kind), parameter, public :: ompx_atv_lifetime_program = 5260
  integer(ompx_value_kind), parameter, public :: ompx_atv_lifetime_phase = 5261
  integer(ompx_value_kind), parameter, public :: ompx_atv_lifetime_temporary = 5262

  ! Kinds of memory, as indices of ompx_placement%bytes.
  integer(c_int), parameter, public :: ompx_kind_dram = 0
  integer(c_int), parameter, public :: ompx_kind_hbm = 1
  integer(c_int), parameter, public :: ompx_kind_nvm = 2
  integer(c_int), parameter, public :: ompx_kind_cxl = 3
  integer(c_int), parameter, public :: ompx_kind_unknown = 4

  ! This module's release, as in ompx_memory.h.
  integer, parameter, public :: ompx_version_major = 1, ompx_version_minor = 1, ompx_version_patch = 0

  ! Result of every function that can fail (ompx_result_t); order in which a commit serves blocks.
  integer(c_int), parameter, public :: ompx_success = 0
  integer(c_int), parameter, public :: ompx_incomplete = 1
  integer(c_int), parameter, public :: ompx_error_errno = -1
  integer(c_int), parameter, public :: ompx_error_invalid_argument = 2
  integer(c_int), parameter, public :: ompx_error_bad_traits = 3
  integer(c_int), parameter, public :: ompx_error_fixed_trait = 4
  integer(c_int), parameter, public :: ompx_error_not_found = 5
  integer(c_int), parameter, public :: ompx_error_no_runtime = 6
  integer(c_int), parameter, public :: ompx_error_out_of_memory = 7
  integer(c_int), parameter, public :: ompx_error_moves_refused = 8
  integer(c_int), parameter, public :: ompx_order_density = 0
  integer(c_int), parameter, public :: ompx_order_importance = 1
  integer(c_int), parameter, public :: ompx_order_declaration = 2

  ! One allocator trait, laid out like C's omp_alloctrait_t. A value: thread-safe.
  type, bind(C) :: ompx_trait
    integer(c_int) :: key
    integer(ompx_value_kind) :: value
  end type

  ! Where a range of memory is (ompx_placement_t), in bytes: bytes(ompx_kind_hbm) and so on. A
  ! value: thread-safe.
  type, bind(C) :: ompx_placement
    integer(c_size_t) :: struct_size = 0 ! set by ompx_get_placement
    integer(c_size_t) :: bytes(0:4) = 0
    integer(c_size_t) :: untouched = 0, unqueried = 0
    integer(c_size_t) :: node_bytes(0:63) = 0
    integer(c_size_t) :: block_bytes = 0
    integer(c_int) :: wanted_kind = -1, required = 0
    character(kind=c_char) :: reason(192) = c_null_char ! as text: ompx_reason
  end type

  ! Outcome of a commit or an apply (ompx_outcome_t): counts of blocks, and bytes moved. A value:
  ! thread-safe.
  type, bind(C) :: ompx_outcome
    integer(c_size_t) :: struct_size = 56
    integer(c_size_t) :: considered = 0, as_wished = 0, next_best = 0, fallback = 0, failed = 0
    integer(c_size_t) :: bytes_moved = 0
  end type

  interface
    ! omp_destroy_allocator. Blocks may outlive the allocator. Thread-safe.
    subroutine ompx_destroy_allocator(allocator) bind(C, name='omp_destroy_allocator')
      import :: ompx_handle_kind
      integer(ompx_handle_kind), value :: allocator
    end subroutine

    ! omp_alloc: a block of so many bytes; c_null_ptr for 0, or by the fallback trait. Thread-safe.
    type(c_ptr) function ompx_alloc(bytes, allocator) bind(C, name='omp_alloc')
      import :: c_ptr, c_size_t, ompx_handle_kind
      integer(c_size_t), value :: bytes
      integer(ompx_handle_kind), value :: allocator
    end function

    ! omp_free; the allocator may be ompx_null_allocator. Thread-safe.
    subroutine ompx_free(block, allocator) bind(C, name='omp_free')
      import :: c_ptr, ompx_handle_kind
      type(c_ptr), value :: block
      integer(ompx_handle_kind), value :: allocator
    end subroutine

    ! Writes objects and ledger as text to an open file descriptor. Returns ompx_success, or
    ! ompx_error_errno if writing fails. Thread-safe.
    integer(c_int) function ompx_dump(fd) bind(C)
      import :: c_int
      integer(c_int), value :: fd
    end function

    ! Declares an allocation of bytes with count traits. ompx_commit sets pointer, which must be a
    ! target that lives until then; c_f_pointer makes an array of it. Returns ompx_success or an
    ! error. Thread-safe.
    integer(c_int) function ompx_declare(pointer, bytes, space, count, traits) bind(C)
      import :: c_int, c_ptr, c_size_t, ompx_handle_kind, ompx_trait
      type(c_ptr), target :: pointer
      integer(c_size_t), value :: bytes
      integer(ompx_handle_kind), value :: space
      integer(c_int), value :: count
      type(ompx_trait), intent(in) :: traits(*)
    end function

    ! Withdraws a declaration. Returns ompx_success or ompx_error_not_found. Thread-safe.
    integer(c_int) function ompx_withdraw(pointer) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), target :: pointer
    end function

    ! Decides on all declarations together, allocates their blocks and sets the pointers. Returns
    ! ompx_success, ompx_incomplete or an error. Thread-safe.
    integer(c_int) function ompx_commit(order, outcome) bind(C)
      import :: c_int, ompx_outcome
      integer(c_int), value :: order
      type(ompx_outcome), intent(inout) :: outcome
    end function

    ! Changes traits of the block that begins at block. Returns ompx_success or an error.
    ! Thread-safe; do not free the block meanwhile.
    integer(c_int) function ompx_update_traits(block, count, traits) bind(C)
      import :: c_int, c_ptr, ompx_trait
      type(c_ptr), value :: block
      integer(c_int), value :: count
      type(ompx_trait), intent(in) :: traits(*)
    end function

    ! Changes traits of an allocator made by ompx_init_allocator. Returns ompx_success or an error.
    ! Thread-safe.
    integer(c_int) function ompx_update_allocator(allocator, count, traits) bind(C)
      import :: c_int, ompx_handle_kind, ompx_trait
      integer(ompx_handle_kind), value :: allocator
      integer(c_int), value :: count
      type(ompx_trait), intent(in) :: traits(*)
    end function

    ! Moves live blocks according to their current traits. Returns ompx_success, ompx_incomplete or
    ! an error. Thread-safe.
    integer(c_int) function ompx_apply(order, outcome) bind(C)
      import :: c_int, ompx_outcome
      integer(c_int), value :: order
      type(ompx_outcome), intent(inout) :: outcome
    end function

    integer(ompx_handle_kind) function c_init_allocator(space, count, traits) &
        bind(C, name='omp_init_allocator')
      import :: c_int, ompx_handle_kind, ompx_trait
      integer(ompx_handle_kind), value :: space
      integer(c_int), value :: count
      type(ompx_trait), intent(in) :: traits(*)
    end function
    integer(ompx_value_kind) function c_name(text) bind(C, name='ompx_name')
      import :: c_char, ompx_value_kind
      character(kind=c_char), intent(in) :: text(*)
    end function
    integer(c_int) function c_phase(text) bind(C, name='ompx_phase')
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: text(*)
    end function
    integer(c_int) function c_get_placement(address, bytes, placement) &
        bind(C, name='ompx_get_placement')
      import :: c_int, c_ptr, c_size_t, ompx_placement
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      type(ompx_placement), intent(inout) :: placement
    end function
  end interface

  ! ompx_allocate(array, extents, allocator [, stat]): allocates an array pointer of rank 1 to 3, of
  ! real(real32), real(real64), integer(int32) or integer(int64). extents is an array of default
  ! integers, elements by rank; for rank 1 it may be one integer(int64). Lower bounds are 1. stat is
  ! 0, or 1 if the allocator gave no memory; without stat, the program then ends with a message.
  ! Elements are undefined. Thread-safe.
  interface ompx_allocate
    module procedure &
      allocate_r4_1, allocate_r4_2, allocate_r4_3, allocate_r4_long, &
      allocate_r8_1, allocate_r8_2, allocate_r8_3, allocate_r8_long, &
      allocate_i4_1, allocate_i4_2, allocate_i4_3, allocate_i4_long, &
      allocate_i8_1, allocate_i8_2, allocate_i8_3, allocate_i8_long
  end interface

  ! ompx_deallocate(array): frees an array of ompx_allocate and nullifies the pointer, which must be
  ! to the whole array. Does nothing if the pointer is not associated. Thread-safe.
  interface ompx_deallocate
    module procedure &
      deallocate_r4_1, deallocate_r4_2, deallocate_r4_3, deallocate_r8_1, &
      deallocate_r8_2, deallocate_r8_3, deallocate_i4_1, deallocate_i4_2, &
      deallocate_i4_3, deallocate_i8_1, deallocate_i8_2, deallocate_i8_3
  end interface

  integer(int64), target, save :: nothing = 0 ! address of arrays without elements

contains

  ! Returns an allocator for the space with these traits (none: an empty array), or
  ! ompx_null_allocator if the runtime refuses it; a warning then states why. Thread-safe.
  integer(ompx_handle_kind) function ompx_init_allocator(space, traits)
    integer(ompx_handle_kind), intent(in) :: space
    type(ompx_trait), intent(in) :: traits(:)
    ompx_init_allocator = c_init_allocator(space, size(traits, kind=c_int), traits)
  end function

  ! Returns the trait value of a name, for ompx_atk_group and ompx_atk_label. A name has 1 to 255
  ! characters of [A-Za-z0-9_.-]; trailing blanks are ignored. Returns 0 for any other text, or if
  ! memory is exhausted. Thread-safe.
  integer(ompx_value_kind) function ompx_name(text)
    character(*), intent(in) :: text
    ompx_name = c_name(trim(text) // c_null_char)
  end function

  ! Names the phase of the program that begins here; the next call ends it. Name as for ompx_name.
  ! Returns ompx_success, or ompx_error_errno if the name is malformed (or empty) or memory is
  ! exhausted. Thread-safe; call it from one thread, outside parallel regions.
  integer(c_int) function ompx_phase(text)
    character(*), intent(in) :: text
    ompx_phase = c_phase(trim(text) // c_null_char)
  end function

  ! Where the kernel has so many bytes from address on; bytes 0 = the whole block that contains
  ! address. Returns ompx_success, or ompx_error_errno if bytes is 0 and there is no such block.
  ! Thread-safe.
  integer(c_int) function ompx_get_placement(address, bytes, placement)
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: bytes
    type(ompx_placement), intent(out) :: placement
    placement%struct_size = storage_size(placement, kind=c_size_t) / 8
    ompx_get_placement = c_get_placement(address, bytes, placement)
  end function

  ! Returns the line of a placement that states the decision and its reason. Thread-safe.
  function ompx_reason(placement) result(text)
    type(ompx_placement), intent(in) :: placement
    character(:), allocatable :: text
    integer :: i
    text = ''
    do i = 1, size(placement%reason)
      if (placement%reason(i) == c_null_char) exit
      text = text // placement%reason(i)
    end do
  end function

  ! Number of elements of an array with these extents, or the largest integer on overflow.
  pure integer(int64) function count_of(extents)
    integer(int64), intent(in) :: extents(:)
    integer :: rank
    integer(int64) :: extent
    count_of = merge(0, 1, any(extents <= 0))
    do rank = 1, size(extents)
      extent = max(1_int64, extents(rank))
      if (count_of > huge(count_of) / extent) then
        count_of = huge(count_of)
        return
      end if
      count_of = count_of * extent
    end do
  end function

  ! Allocates the block of an array with elements of bytes_each bytes. Returns `nothing` if the
  ! array has no elements, c_null_ptr if the allocator gave no memory.
  type(c_ptr) function block_for(extents, bytes_each, allocator, stat) result(block)
    integer(int64), intent(in) :: extents(:)
    integer, intent(in) :: bytes_each
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    integer(int64) :: elements
    elements = count_of(extents)
    block = c_null_ptr
    if (elements == 0) then
      block = c_loc(nothing)
    else if (elements <= huge(elements) / bytes_each) then
      ! A product that overflows must not become a small size.
      block = ompx_alloc(int(elements * bytes_each, c_size_t), allocator)
    end if
    if (present(stat)) then
      stat = merge(0, 1, c_associated(block))
    else if (.not. c_associated(block)) then
      error stop 'ompx_allocate: the allocator gave no memory'
    end if
  end function

  subroutine allocate_r4_1(array, extents, allocator, stat)
    real(real32), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r4_1(array)
    real(real32), pointer, intent(inout) :: array(:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r4_2(array, extents, allocator, stat)
    real(real32), pointer, intent(out) :: array(:,:)
    integer, intent(in) :: extents(2)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r4_2(array)
    real(real32), pointer, intent(inout) :: array(:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r4_3(array, extents, allocator, stat)
    real(real32), pointer, intent(out) :: array(:,:,:)
    integer, intent(in) :: extents(3)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r4_3(array)
    real(real32), pointer, intent(inout) :: array(:,:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2), lbound(array, 3))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r4_long(array, extent, allocator, stat)
    real(real32), pointer, intent(out) :: array(:)
    integer(int64), intent(in) :: extent
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for([extent], 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, [max(0_int64, extent)])
  end subroutine

  subroutine allocate_r8_1(array, extents, allocator, stat)
    real(real64), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r8_1(array)
    real(real64), pointer, intent(inout) :: array(:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r8_2(array, extents, allocator, stat)
    real(real64), pointer, intent(out) :: array(:,:)
    integer, intent(in) :: extents(2)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r8_2(array)
    real(real64), pointer, intent(inout) :: array(:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r8_3(array, extents, allocator, stat)
    real(real64), pointer, intent(out) :: array(:,:,:)
    integer, intent(in) :: extents(3)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_r8_3(array)
    real(real64), pointer, intent(inout) :: array(:,:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2), lbound(array, 3))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_r8_long(array, extent, allocator, stat)
    real(real64), pointer, intent(out) :: array(:)
    integer(int64), intent(in) :: extent
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for([extent], 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, [max(0_int64, extent)])
  end subroutine

  subroutine allocate_i4_1(array, extents, allocator, stat)
    integer(int32), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i4_1(array)
    integer(int32), pointer, intent(inout) :: array(:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i4_2(array, extents, allocator, stat)
    integer(int32), pointer, intent(out) :: array(:,:)
    integer, intent(in) :: extents(2)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i4_2(array)
    integer(int32), pointer, intent(inout) :: array(:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i4_3(array, extents, allocator, stat)
    integer(int32), pointer, intent(out) :: array(:,:,:)
    integer, intent(in) :: extents(3)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i4_3(array)
    integer(int32), pointer, intent(inout) :: array(:,:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2), lbound(array, 3))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i4_long(array, extent, allocator, stat)
    integer(int32), pointer, intent(out) :: array(:)
    integer(int64), intent(in) :: extent
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for([extent], 4, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, [max(0_int64, extent)])
  end subroutine

  subroutine allocate_i8_1(array, extents, allocator, stat)
    integer(int64), pointer, intent(out) :: array(:)
    integer, intent(in) :: extents(1)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i8_1(array)
    integer(int64), pointer, intent(inout) :: array(:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i8_2(array, extents, allocator, stat)
    integer(int64), pointer, intent(out) :: array(:,:)
    integer, intent(in) :: extents(2)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i8_2(array)
    integer(int64), pointer, intent(inout) :: array(:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i8_3(array, extents, allocator, stat)
    integer(int64), pointer, intent(out) :: array(:,:,:)
    integer, intent(in) :: extents(3)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_i8_3(array)
    integer(int64), pointer, intent(inout) :: array(:,:,:)
    if (.not. associated(array)) return
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(lbound(array, 1), lbound(array, 2), lbound(array, 3))), ompx_null_allocator)
    nullify (array)
  end subroutine

  subroutine allocate_i8_long(array, extent, allocator, stat)
    integer(int64), pointer, intent(out) :: array(:)
    integer(int64), intent(in) :: extent
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for([extent], 8, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, [max(0_int64, extent)])
  end subroutine

end module ompx_memory
