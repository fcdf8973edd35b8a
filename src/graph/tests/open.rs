use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A folder that is removed at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("onnxtune-graph-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open_file(path: &Path) -> Result<Model, GraphError> {
    Model::open(ModelSource::File(path.to_owned()))
}

fn reason(bytes: &[u8]) -> String {
    open_bytes(bytes.to_vec()).expect_err("no model").to_string()
}

#[test]
fn encodes_what_it_decoded() {
    let bytes = everything().encode_to_vec();
    let model = open_bytes(bytes.clone()).expect("a model");
    assert_eq!(model.proto().encode_to_vec(), bytes);
    assert!(!model.has_unknown_fields());
    let mut extended = bytes;
    extended.extend([0xfa, 0x01, 1, b'x']);
    assert!(open_bytes(extended).expect("a model").has_unknown_fields());
}

#[test]
fn weights_are_slices_of_the_source() {
    let model = memory(&adder(tensor("w", 1, &[2], &[7; 8])));
    let raw = model.proto().graph.as_ref().and_then(|graph| graph.initializer[0].raw_data.clone()).expect("data");
    assert!(model.bytes().as_ptr_range().contains(&raw.as_ptr()));
}

#[test]
fn path_errors() {
    let folder = Folder::new("paths");
    assert!(matches!(open_file(&folder.0.join("none.onnx")), Err(GraphError::NotFound { .. })));
    assert!(matches!(open_file(&folder.0), Err(GraphError::NotAFile { .. })));
    let file = folder.write("模型 é 🚀 dir/m.onnx", everything().encode_to_vec());
    assert!(matches!(open_file(&file.join("below")), Err(GraphError::NotFound { .. })));
    assert!(matches!(open_file(Path::new("a\0b")), Err(GraphError::Unreadable { .. })));
    assert!(matches!(open_file(&folder.write("empty.onnx", b"")), Err(GraphError::Empty { .. })));
    assert_eq!(open_file(&file).expect("a model").path(), Some(file.as_path()));
    let pointer = folder.write("lfs.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n");
    let error = open_file(&pointer).expect_err("a pointer");
    assert!(matches!(error, GraphError::LfsPointer { .. }) && error.to_string().contains("git lfs pull"));
}

#[test]
fn other_formats_are_named() {
    assert!(matches!(open_bytes(b"\x20\0\0\0ORTMxxxx".to_vec()), Err(GraphError::OrtFormat { .. })));
    let mut torch = b"PK\x03\x04".to_vec();
    torch.extend([0; 26]);
    let zip = torch.clone();
    torch.extend(b"archive/data.pkl");
    for (bytes, part) in [
        (b"\x1c\0\0\0TFL3".as_slice(), "TensorFlow Lite"),
        (&torch, "PyTorch"),
        (&zip, "zip archive"),
        (b"\x80\x02}q\0.", "pickle"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"  {\"a\": 1}", "JSON"),
        (b"hello\n", "text file"),
        ("模型".as_bytes(), "text file"),
        (&[0; 100], "zeros"),
        (b"\x10\0\0\0\0\0\0\0{\"a\":{}}", "safetensors"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"version https://git-lfs", "git lfs pull"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "does not decode"),
        // A tensor file of the backend tests: dims, data type, raw data.
        (b"\x08\x02\x10\x01\x4a\x02\0\0", "does not decode"),
    ] {
        let message = reason(bytes);
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_model_with_foreign_signatures_in_it_is_a_model() {
    let mut proto = adder(tensor("w", 1, &[2], &[0; 8]));
    proto.producer_name = Some("ORTM".into());
    let bytes = proto.encode_to_vec();
    assert_eq!(&bytes[4..8], b"ORTM");
    assert!(open_bytes(bytes).is_ok());
}

#[test]
fn a_graph_is_required() {
    let empty = ModelProto { ir_version: Some(8), ..Default::default() };
    assert!(matches!(open_bytes(empty.encode_to_vec()), Err(GraphError::NoGraph { .. })));
    assert!(matches!(open_bytes(model(GraphProto::default()).encode_to_vec()), Err(GraphError::NoGraph { .. })));
}

#[test]
fn half_a_model_is_cut_off() {
    let whole = adder(tensor("w", 1, &[1000], &[1; 4000])).encode_to_vec();
    for length in [100, whole.len() / 2, whole.len() - 1] {
        match open_bytes(whole[..length].to_vec()) {
            Err(GraphError::Truncated { needed, actual, .. }) => {
                assert_eq!(actual, length as u64);
                assert!(needed > actual && needed <= whole.len() as u64);
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut proto = everything();
    proto.graph.get_or_insert_default().initializer.push(external(
        "e",
        &[2],
        &[("location", "w.bin"), ("offset", "4")],
    ));
    let whole = proto.encode_to_vec();
    let look = |bytes: Vec<u8>| {
        if let Ok(model) = open_bytes(bytes) {
            let _ = (model.info(), model.check_external_data(), model.has_unknown_fields());
        }
    };
    for at in 0..whole.len() {
        look(whole[..at].to_vec());
        look(whole[at..].to_vec());
        for mask in [0x01, 0x08, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            look(bytes);
        }
    }
    let mut state = 1u64;
    for length in 0..2000 {
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        look((0..length % 64).map(|_| next()).collect());
    }
}

#[test]
fn nesting_is_bounded() {
    let mut graph = GraphProto { node: vec![node("Relu", "", &["x"], &["y"])], ..Default::default() };
    for _ in 0..60 {
        graph =
            GraphProto { node: vec![with(node("If", "", &["c"], &["y"]), subgraph("g", graph))], ..Default::default() };
    }
    let message = reason(&model(graph).encode_to_vec());
    assert!(message.contains("recursion"), "{message}");
}

#[test]
fn external_data_in_memory() {
    let proto = adder(external("w", &[2], &[("location", "w.bin"), ("offset", "8"), ("length", "8")]));
    let open = |external: &[(&str, usize)]| {
        let external =
            external.iter().map(|(name, length)| (name.to_string(), Bytes::from(vec![0; *length]))).collect();
        Model::open(ModelSource::Memory { bytes: proto.encode_to_vec().into(), external }).expect("a model")
    };
    let error = open(&[]).check_external_data().expect_err("missing");
    assert!(error.to_string().contains("'w.bin'"), "{error}");
    assert!(matches!(error, GraphError::ExternalDataMissing { path: None, .. }));
    let short = open(&[("w.bin", 15)]).check_external_data();
    assert!(matches!(short, Err(GraphError::ExternalDataTooShort { needed: 16, actual: 15, .. })));
    assert!(open(&[("./w.bin", 16)]).check_external_data().is_ok());
    assert_eq!(open(&[]).runtime_path(), None);
}

#[test]
fn broken_references() {
    for entries in [
        &[][..],
        &[("location", "")],
        &[("location", "w"), ("offset", "-4")],
        &[("location", "w"), ("length", "100")],
        &[("location", "w"), ("offset", "18446744073709551615")],
    ] {
        let model = memory(&adder(external("w", &[2], entries)));
        assert!(matches!(model.check_external_data(), Err(GraphError::ExternalDataInvalid { .. })), "{entries:?}");
        assert!(model.info().external_data.is_empty());
    }
}

#[test]
fn external_data_on_disk() {
    let folder = Folder::new("external");
    let at = |location: &str| adder(external("w", &[2], &[("location", location)])).encode_to_vec();
    let file = folder.write("m.onnx", at("sub/../w.bin"));
    fs::create_dir(folder.0.join("sub")).expect("a folder");
    let model = open_file(&file).expect("a model");
    match model.check_external_data() {
        Err(GraphError::ExternalDataMissing { path: Some(path), missing, .. }) => {
            assert!(path.starts_with(&folder.0));
            assert_eq!(missing, ["sub/../w.bin"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(!model.info().external_data[0].present);
    folder.write("w.bin", [0; 7]);
    assert!(matches!(model.check_external_data(), Err(GraphError::ExternalDataTooShort { needed: 8, actual: 7, .. })));
    folder.write("w.bin", b"version https://git-lfs");
    assert!(model.check_external_data().is_ok(), "long enough is not looked into");
    folder.write("w.bin", [0; 9]);
    assert!(model.check_external_data().is_ok());
    let info = &model.info().external_data[0];
    assert_eq!((info.bytes, info.present), (9, true));
    for location in ["../w.bin", "/etc/hostname", "sub/../../w.bin"] {
        let model = open_file(&folder.write("escape.onnx", at(location))).expect("a model");
        assert!(matches!(model.check_external_data(), Err(GraphError::ExternalDataPath { .. })), "{location}");
    }
}

#[cfg(unix)]
#[test]
fn links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let bytes = adder(external("w", &[2], &[("location", "w.bin")])).encode_to_vec();
    let target = folder.write("blobs/abc", &bytes);
    fs::create_dir(folder.0.join("snap")).expect("a folder");
    let link = folder.0.join("snap/m.onnx");
    symlink("../blobs/abc", &link).expect("a link");
    let model = open_file(&link).expect("a model");
    assert!(matches!(model.check_external_data(), Err(GraphError::ExternalDataMissing { .. })));

    folder.write("blobs/w.bin", [0; 8]);
    assert!(model.check_external_data().is_ok());
    assert_eq!(model.runtime_path(), Some(fs::canonicalize(&target).expect("a path")));

    // The layout of the Hugging Face cache: model and data are links into one folder.
    symlink("../blobs/w.bin", folder.0.join("snap/w.bin")).expect("a link");
    assert!(model.check_external_data().is_ok());
    assert_eq!(model.runtime_path(), Some(link));

    folder.write("elsewhere/w.bin", [0; 8]);
    fs::remove_file(folder.0.join("snap/w.bin")).expect("removed");
    symlink("../elsewhere/w.bin", folder.0.join("snap/w.bin")).expect("a link");
    assert!(matches!(model.check_external_data(), Err(GraphError::ExternalDataPath { .. })));
}
