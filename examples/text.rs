// Prints the ten most likely next tokens, one after another; the argument is the weight file.
use std::ffi::{c_char, c_int, CStr, CString};

#[repr(C)]
struct Instance {
    _private: [u8; 0],
}

extern "C" {
    fn tale_new(weights: *const c_char, threads: c_int, error: *mut c_int) -> *mut Instance;
    fn tale_free(m: *mut Instance);
    fn tale_step(m: *mut Instance, token: i32, logits: *mut f32) -> c_int;
    fn tale_error(code: c_int) -> *const c_char;
}

fn check(code: c_int) -> Result<(), String> {
    match code {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(tale_error(code)) }.to_string_lossy().into_owned()),
    }
}

const VOCAB: usize = 512; // TALE_VOCAB

struct Tale(*mut Instance);

impl Tale {
    fn new(weights: &str, threads: i32) -> Result<Tale, String> {
        let path = CString::new(weights).map_err(|e| e.to_string())?;
        let mut error = 0;
        let m = unsafe { tale_new(path.as_ptr(), threads, &mut error) };
        check(error)?;
        Ok(Tale(m))
    }

    fn step(&mut self, token: i32) -> Result<Vec<f32>, String> {
        let mut logits = vec![0.0; VOCAB];
        check(unsafe { tale_step(self.0, token, logits.as_mut_ptr()) })?;
        Ok(logits)
    }
}

impl Drop for Tale {
    fn drop(&mut self) {
        unsafe { tale_free(self.0) }
    }
}

fn main() -> Result<(), String> {
    let weights = std::env::args().nth(1).unwrap_or("tale.weights".into());
    let mut m = Tale::new(&weights, 2)?;
    let mut token = 1; // <s>
    for _ in 0..10 {
        let logits = m.step(token)?;
        token = (0..VOCAB).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as i32;
        print!("{token} ");
    }
    println!();
    Ok(())
}
