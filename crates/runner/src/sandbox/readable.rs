//! The allow-list of system paths that a sandbox shows, to read and to execute. Whatever is not named here, in the user's
//! `readable_paths`, or part of a toolchain in their home is not there: no other checkout, no `/srv`, `/mnt`, `/var`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Programs, libraries and what package managers without a `/usr` use.
const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/var/lib/snapd/snap",
];

/// Data that programs of a distribution keep elsewhere, and what runtimes ask about the processors.
const DATA: &[&str] = &[
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/lib/gems",
    "/var/lib/texmf",
    "/var/cache/fontconfig",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Settings in `/etc` that programs need and that hold no secrets. Not `gitconfig`, `npmrc` or `pip.conf`: they may.
const SETTINGS: &[&str] = &[
    "ImageMagick-6",
    "ImageMagick-7",
    "OpenCL",
    "R",
    "X11",
    "alpine-release",
    "alternatives",
    "arch-release",
    "bash.bashrc",
    "bash_completion.d",
    "bashrc",
    "bindresvport.blacklist",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "dotnet",
    "dpkg",
    "emacs",
    "ethertypes",
    "fedora-release",
    "fonts",
    "gai.conf",
    "ghc",
    "glvnd",
    "groff",
    "group",
    "gss",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "issue",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "locale.conf",
    "locale.gen",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "manpath.config",
    "maven",
    "mime.types",
    "mtab",
    "nanorc",
    "netconfig",
    "networks",
    "nodejs",
    "nsswitch.conf",
    "openmpi",
    "os-release",
    "papersize",
    "passwd",
    "pkcs11",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "redhat-release",
    "resolv.conf",
    "rpc",
    "services",
    "sgml",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/ct_log_list.cnf",
    "ssl/openssl.cnf",
    "static",
    "system-release",
    "terminfo",
    "texmf",
    "timezone",
    "vim",
    "vulkan",
    "xattr.conf",
    "xdg",
    "xml",
    "zoneinfo",
];

/// The same by the beginning of the name, for settings with a version in it.
const VERSIONED: &[&str] = &["erlang", "gtk-", "java", "julia", "lua", "perl", "php", "python", "ruby"];

/// One entry of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// A file or folder, with all that is below it.
    Tree(PathBuf),
    /// A link whose target is shown by its own name, such as `/bin` to `usr/bin`.
    Link { at: PathBuf, to: PathBuf },
}

/// What of the list this machine has.
pub(super) fn system() -> Vec<Shown> {
    let programs: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
    let whole: Vec<PathBuf> = programs.iter().filter(|path| !path.is_symlink()).cloned().collect();
    let data = DATA.iter().map(PathBuf::from).filter(|path| path.exists());
    programs.iter().cloned().chain(data).chain(settings(Path::new("/etc"))).map(|path| entry(path, &whole)).collect()
}

fn entry(path: PathBuf, whole: &[PathBuf]) -> Shown {
    let target = fs::read_link(&path).ok().zip(fs::canonicalize(&path).ok());
    match target {
        Some((to, end)) if whole.iter().any(|root| end.starts_with(root)) => Shown::Link { at: path, to },
        Some(_) | None => Shown::Tree(path),
    }
}

/// Those that everybody may read: the superuser's agents read no more than anybody's.
fn settings(etc: &Path) -> Vec<PathBuf> {
    let versioned = |name: &str| VERSIONED.iter().any(|begin| name.starts_with(begin));
    let more = fs::read_dir(etc).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        versioned(&name).then_some(name)
    });
    let named = SETTINGS.iter().map(|name| (*name).to_owned());
    let mut paths: Vec<PathBuf> = named.chain(more).map(|name| etc.join(name)).collect();
    paths.sort();
    paths.retain(|path| fs::metadata(path).is_ok_and(|found| found.mode() & 0o004 != 0));
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn secrets_and_files_that_only_some_may_read_are_not_among_the_settings() {
        let etc = tempfile::tempdir().unwrap();
        for (name, mode) in
            [("passwd", 0o644), ("shadow", 0o640), ("python3", 0o644), ("npmrc", 0o644), ("environment", 0o600)]
        {
            fs::write(etc.path().join(name), "x").unwrap();
            fs::set_permissions(etc.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        assert_eq!(settings(etc.path()), [etc.path().join("passwd"), etc.path().join("python3")]);
    }

    #[test]
    fn a_link_into_what_is_shown_stays_a_link_and_any_other_is_shown_by_its_content() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("usr/bin")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        symlink("usr/bin", at("bin")).unwrap();
        symlink("elsewhere", at("other")).unwrap();
        let whole = [fs::canonicalize(at("usr")).unwrap()];
        assert_eq!(entry(at("bin"), &whole), Shown::Link { at: at("bin"), to: "usr/bin".into() });
        assert_eq!(entry(at("other"), &whole), Shown::Tree(at("other")));
        assert_eq!(entry(at("usr"), &whole), Shown::Tree(at("usr")));
    }
}
