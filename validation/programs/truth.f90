! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! truth.h for Fortran: the same functions; texts end with c_null_char, sizes are of kind c_size_t.
module truth
  use iso_c_binding
  implicit none

  interface
    function truth_clock() bind(c)
      import :: c_double
      real(c_double) :: truth_clock
    end function
    function truth_object(name, bytes, blocks, pattern) bind(c)
      import :: c_char, c_int, c_size_t
      character(kind=c_char), intent(in) :: name(*), pattern(*)
      integer(c_size_t), value :: bytes, blocks
      integer(c_int) :: truth_object
    end function
    subroutine truth_from_cache(object, share) bind(c)
      import :: c_int, c_double
      integer(c_int), value :: object
      real(c_double), value :: share
    end subroutine
    function truth_loop(name, seconds) bind(c)
      import :: c_char, c_int, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: seconds
      integer(c_int) :: truth_loop
    end function
    function truth_use(loop, object, read, written) bind(c)
      import :: c_int, c_double
      integer(c_int), value :: loop, object
      real(c_double), value :: read, written
      integer(c_int) :: truth_use
    end function
    subroutine truth_alone(use, seconds) bind(c)
      import :: c_int, c_double
      integer(c_int), value :: use
      real(c_double), value :: seconds
    end subroutine
    subroutine truth_weight(use, weight) bind(c)
      import :: c_int, c_double
      integer(c_int), value :: use
      real(c_double), value :: weight
    end subroutine
    function truth_read_lines(data, bytes) bind(c)
      import :: c_double, c_size_t
      type(*), intent(in) :: data(*)
      integer(c_size_t), value :: bytes
      real(c_double) :: truth_read_lines
    end function
    function truth_write_lines(data, bytes) bind(c)
      import :: c_double, c_size_t
      type(*), intent(inout) :: data(*)
      integer(c_size_t), value :: bytes
      real(c_double) :: truth_write_lines
    end function
    function truth_write(file, program) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: file(*), program(*)
      integer(c_int) :: truth_write
    end function
    function truth_last_level_cache() bind(c)
      import :: c_size_t
      integer(c_size_t) :: truth_last_level_cache
    end function
  end interface
end module truth
