# Copyright of the Tacho contributors. SPDX-License-Identifier: Apache-2.0
# Put it into a Spack repository as packages/tacho/package.py.

from spack.package import *


class Tacho(Package):
    """The flight recorder for batch, HPC and ML jobs. It records what a job really did on every
    node, and says what to change."""

    # where your site keeps releases; npm run release makes one
    url = "file:///opt/releases/tacho-@VERSION@-linux-@NODE_ARCH@.tar.gz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    # the release brings the Node that it runs on: nothing is compiled
    requires("platform=linux", "target=x86_64:")

    def install(self, spec, prefix):
        install_tree(".", prefix.share.tacho)
        mkdirp(prefix.bin)
        symlink(join_path(prefix.share.tacho, "tacho"), join_path(prefix.bin, "tacho"))
        install_tree("packaging/man", prefix.share.man.man1)

    @run_after("install")
    def check_version(self):
        Executable(join_path(self.prefix.bin, "tacho"))("--version")
