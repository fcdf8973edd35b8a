//! The messages that place a node's tensors on several devices (IR version 11 and later).

/// Configuration of one node for several devices.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct NodeDeviceConfigurationProto {
    #[prost(string, optional, tag = "1")]
    pub configuration_id: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub sharding_spec: Vec<ShardingSpecProto>,
    #[prost(int32, optional, tag = "3")]
    pub pipeline_stage: Option<i32>,
}

/// How one input or output of a node is spread over devices.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ShardingSpecProto {
    #[prost(string, optional, tag = "1")]
    pub tensor_name: Option<String>,
    #[prost(int64, repeated, packed = "false", tag = "2")]
    pub device: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub index_to_device_group_map: Vec<IntIntListEntryProto>,
    #[prost(message, repeated, tag = "4")]
    pub sharded_dim: Vec<ShardedDimProto>,
}

/// One entry of a map from numbers to lists of numbers.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IntIntListEntryProto {
    #[prost(int64, optional, tag = "1")]
    pub key: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "2")]
    pub value: Vec<i64>,
}

/// How one axis is split.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ShardedDimProto {
    #[prost(int64, optional, tag = "1")]
    pub axis: Option<i64>,
    #[prost(message, repeated, tag = "2")]
    pub simple_sharding: Vec<SimpleShardedDimProto>,
}

/// A dimension split into a number of shards.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SimpleShardedDimProto {
    #[prost(oneof = "simple_sharded_dim::Dim", tags = "1, 2")]
    pub dim: Option<simple_sharded_dim::Dim>,
    #[prost(int64, optional, tag = "3")]
    pub num_shards: Option<i64>,
}

/// The dimension that is split: a number or a symbol.
pub mod simple_sharded_dim {
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Dim {
        #[prost(int64, tag = "1")]
        DimValue(i64),
        #[prost(string, tag = "2")]
        DimParam(String),
    }
}
