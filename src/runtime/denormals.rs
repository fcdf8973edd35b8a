/// While it lives, numbers too small for full precision count as zero on this thread. ONNX Runtime sets the mode on its own
/// threads only, and not on the one that calls run.
pub(super) struct FlushDenormals {
    before: u64,
}

impl FlushDenormals {
    pub(super) fn new() -> FlushDenormals {
        let before = control::read();
        control::write(before | control::FLUSH);
        FlushDenormals { before }
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        control::write(self.before);
    }
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// MXCSR: flush to zero (bit 15) and denormals are zero (bit 6).
    pub const FLUSH: u64 = 1 << 15 | 1 << 6;

    pub fn read() -> u64 {
        let mut register = 0u32;
        // SAFETY: stores the control register in the variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut register, options(nostack, preserves_flags)) };
        u64::from(register)
    }

    pub fn write(register: u64) {
        let register = register as u32;
        // SAFETY: loads a value that came from the register, with two bits set that exist on every x86-64 processor.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &register, options(nostack, readonly, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    use std::arch::asm;

    /// FPCR: flush to zero (bit 24).
    pub const FLUSH: u64 = 1 << 24;

    pub fn read() -> u64 {
        let register: u64;
        // SAFETY: reads the control register.
        unsafe { asm!("mrs {}, fpcr", out(reg) register, options(nomem, nostack, preserves_flags)) };
        register
    }

    pub fn write(register: u64) {
        // SAFETY: writes a value that came from the register, with one bit set that exists on every such processor.
        unsafe { asm!("msr fpcr, {}", in(reg) register, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub const FLUSH: u64 = 0;

    pub fn read() -> u64 {
        0
    }

    pub fn write(_: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn the_mode_holds_as_long_as_the_guard() {
        let product = || black_box(1e-40f32) * black_box(1.0);
        assert_ne!(product(), 0.0);
        {
            let _guard = FlushDenormals::new();
            assert_eq!(product(), 0.0);
        }
        assert_ne!(product(), 0.0);
    }
}
