// SPDX-License-Identifier: GPL-2.0-or-later
//
// Replaces GLib's header, which that of QEMU's plugin interface includes from version 2 on. Only
// these type names are needed, by functions that the plugin does not call.
#pragma once

typedef struct _GArray GArray;
typedef struct _GByteArray GByteArray;
