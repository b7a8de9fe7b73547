# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes ompx_memory.f90 in the build folder from ompx_memory.f90.in: the procedures behind ompx_allocate and
# ompx_deallocate, one for each type and rank of arrays.
#
# ompx_fortran_module(<file>)

# Sets <result> to the procedures of one type and rank.
function(_ompx_array_procedures name type bytes rank result)
  set(colons ":")
  set(first "low(1)")
  if(rank GREATER 1)
    foreach(dimension RANGE 2 ${rank})
      string(APPEND colons ",:")
      string(APPEND first ", low(${dimension})")
    endforeach()
  endif()
  string(CONFIGURE [[
  subroutine allocate_@name@_@rank@(array, extents, allocator, stat)
    @type@, pointer, intent(out) :: array(@colons@)
    integer, intent(in) :: extents(@rank@)
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for(int(extents, int64), @bytes@, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, max(0, extents))
  end subroutine

  subroutine deallocate_@name@_@rank@(array)
    @type@, pointer, intent(inout) :: array(@colons@)
    integer(int64) :: low(@rank@)
    if (.not. associated(array)) return
    low = lbound(array, kind=int64)
    if (size(array, kind=int64) > 0) &
      call ompx_free(c_loc(array(@first@)), ompx_null_allocator)
    nullify (array)
  end subroutine

]] text @ONLY)
  if(rank EQUAL 1)
    string(CONFIGURE [[
  subroutine allocate_@name@_long(array, extent, allocator, stat)
    @type@, pointer, intent(out) :: array(:)
    integer(int64), intent(in) :: extent
    integer(ompx_handle_kind), intent(in) :: allocator
    integer, intent(out), optional :: stat
    type(c_ptr) :: block
    nullify (array)
    block = block_for([extent], @bytes@, allocator, stat)
    if (c_associated(block)) call c_f_pointer(block, array, [max(0_int64, extent)])
  end subroutine

]] long @ONLY)
    string(APPEND text "${long}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(ompx_fortran_module file)
  set(types r4 "real(real32)" 4 r8 "real(real64)" 8 c4 "complex(real32)" 8 c8 "complex(real64)" 16
            i4 "integer(int32)" 4 i8 "integer(int64)" 8)
  while(types)
    list(POP_FRONT types name type bytes)
    set(allocate "      allocate_${name}_long")
    set(deallocate "")
    foreach(rank RANGE 1 7)
      _ompx_array_procedures(${name} ${type} ${bytes} ${rank} text)
      string(APPEND ARRAY_PROCEDURES "${text}")
      string(APPEND allocate ", allocate_${name}_${rank}")
      list(APPEND deallocate "deallocate_${name}_${rank}")
    endforeach()
    list(JOIN deallocate ", " deallocate)
    list(APPEND allocates "${allocate}")
    list(APPEND deallocates "      ${deallocate}")
  endwhile()
  list(JOIN allocates ", &\n" ALLOCATE_NAMES)
  list(JOIN deallocates ", &\n" DEALLOCATE_NAMES)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ompx_memory.f90.in ${file} @ONLY)
endfunction()
