fn main() {
    // Lets the linker leave Node's symbols open; a no-op for builds without the binding.
    napi_build::setup();
}
