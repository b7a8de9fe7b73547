# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Before packing: packages of an earlier version would be installed along with the new ones (*.deb).
file(GLOB earlier ${CPACK_PACKAGE_DIRECTORY}/omptier*.deb)
if(earlier)
  file(REMOVE ${earlier})
endif()
