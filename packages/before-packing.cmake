# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Before packing. Packages of an earlier version would be installed along with the new ones (*.deb); and folders are
# everybody's, whatever the umask of who packs.
file(GLOB earlier ${CPACK_PACKAGE_DIRECTORY}/omptier*.deb)
if(earlier)
  file(REMOVE ${earlier})
endif()
file(CHMOD_RECURSE ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
     GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
