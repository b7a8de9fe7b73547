! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! The allocator routines as gfortran's omp_lib reaches them: omp_init_allocator by reference and under
! its Fortran name, the others as in C.
program fortran
  use omp_lib
  use iso_c_binding
  implicit none
  type(omp_alloctrait) :: traits(1)
  integer(omp_allocator_handle_kind) :: own
  type(c_ptr) :: block
  real(c_double), pointer :: values(:)
  integer :: i

  traits(1)%key = omp_atk_alignment
  traits(1)%value = 128
  own = omp_init_allocator(omp_default_mem_space, 1, traits)
  ! HOOK attach
  ! HOOK init_allocator space=0 traits=1 first_key=2
  block = omp_alloc(8000_c_size_t, own)
  ! HOOK allocate size=8000 alignment=0 handle=own from=program
  ! HOOK stock_allocated size=8000 kept=8000 handle=own from=program
  call c_f_pointer(block, values, [1000])
  !$omp parallel do num_threads(2)
  ! HOOK region_begin threads=2 from=program
  do i = 1, 1000
    values(i) = i
  end do
  ! HOOK region_end from=program
  print '(a, f10.1)', 'sum ', sum(values)
  call omp_free(block, own)
  ! HOOK release block handle=own
  ! HOOK stock_released size=8000
  call omp_destroy_allocator(own)
  ! HOOK destroy_allocator own
  ! HOOK runtime_end
end program fortran
