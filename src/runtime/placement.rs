use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char},
    ptr, slice,
};

use ort::sys;
use serde::Serialize;

use super::api::{call, check};

/// The nodes that one provider runs, read back from the runtime after it has divided the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    pub provider: String,
    pub nodes: usize,
    /// Nodes by operator, as the graph was divided: after basic optimisation, before fusions. `domain::Op` outside the
    /// standard domain.
    pub operators: BTreeMap<String, usize>,
}

pub(super) fn read(session: *const sys::OrtSession) -> Result<Vec<Placement>, String> {
    let (mut subgraphs, mut count) = (ptr::null(), 0);
    // SAFETY: a live session and places for the answer, which the session owns.
    call!(Session_GetEpGraphAssignmentInfo(session, &mut subgraphs, &mut count))?;
    let mut found: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    // SAFETY: an array of that length, owned by the session.
    for &subgraph in unsafe { as_slice(subgraphs, count) } {
        let mut provider = ptr::null();
        // SAFETY: a live subgraph and a place for the answer.
        call!(EpAssignedSubgraph_GetEpName(subgraph, &mut provider))?;
        // SAFETY: owned by the session.
        let operators = found.entry(unsafe { text(provider) }).or_default();
        let (mut nodes, mut count) = (ptr::null(), 0);
        // SAFETY: as above.
        call!(EpAssignedSubgraph_GetNodes(subgraph, &mut nodes, &mut count))?;
        // SAFETY: an array of that length, owned by the session.
        for &node in unsafe { as_slice(nodes, count) } {
            let (mut domain, mut operator) = (ptr::null(), ptr::null());
            // SAFETY: a live node and places for the answers.
            call!(EpAssignedNode_GetDomain(node, &mut domain))?;
            // SAFETY: as above.
            call!(EpAssignedNode_GetOperatorType(node, &mut operator))?;
            // SAFETY: owned by the session.
            let (domain, operator) = unsafe { (text(domain), text(operator)) };
            let name = if domain.is_empty() { operator } else { format!("{domain}::{operator}") };
            *operators.entry(name).or_default() += 1;
        }
    }
    let placement = |(provider, operators): (String, BTreeMap<String, usize>)| Placement {
        provider,
        nodes: operators.values().sum(),
        operators,
    };
    Ok(found.into_iter().map(placement).collect())
}

/// # Safety
/// `pointer` must be null or point to `count` values that outlive the slice.
unsafe fn as_slice<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    if pointer.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(pointer, count) }
}

/// # Safety
/// `pointer` must be null or point to a NUL-terminated string.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
