// SPDX-License-Identifier: GPL-2.0-or-later
//
// Stands in for GLib's header, which that of QEMU's plugin interface includes from version 2 on: it
// only names these types, in functions that the plugin does not call.
#pragma once

typedef struct _GArray GArray;
typedef struct _GByteArray GByteArray;
