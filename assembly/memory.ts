// Pages and blocks. The only file that calls memory.grow; all others take blocks from it.
//
// Blocks are powers of two from 64 B on, 64 B aligned, without headers: the code that frees a block
// knows its size. A freed block goes to the list of its class and is handed out again; a request
// that finds its list empty splits the smallest larger free block, then takes fresh memory. Halves
// are not merged again: sizes here are few (chunks of 16 KiB, tables that double), so what a table
// leaves behind when it doubles becomes chunks. Only keys too long for their record have sizes of
// their own: the blocks that many short ones left are of no use for longer ones.
//
// Raw loads and stores: the lists of free blocks and words of a block, bare u32.
//
// blockAlloc returns 0 when memory cannot grow. Callers take blocks before they change anything.

/** AssemblyScript calls this where an assertion fails; a trap is always a bug of ours. */
export function abortTrap(): void {
  unreachable();
}

const SMALLEST_SHIFT: u32 = 6;
const CLASSES: u32 = 26; // 64 B to 2 GiB

// u32[CLASSES]: first free block of the class; a free block keeps the address of the next one in
// its first word.
const freeLists: usize = memory.data(4 * 32, 64);
let freeClasses: u32 = 0; // bit c: class c has a free block
let top: usize = (__heap_base + 63) & ~63; // first byte never handed out
let pageLimit: u32 = 65535; // one page short of 4 GiB, so that no address wraps

// For tests that refuse the k-th block for every k. While they count, `largest` is 0: every request
// leaves the usual path, which costs no test more.
const LARGEST: u32 = 0x80000000;
let largest: u32 = LARGEST;
let granted: u32 = 0; // requests that are still granted while counting

@inline
function classOf(size: u32): u32 {
  return size <= 64 ? 0 : 32 - clz(size - 1) - SMALLEST_SHIFT;
}

/** The size of the block that a request of `size` bytes gets. */
@inline
export function blockSize(size: u32): u32 {
  return <u32>64 << classOf(size);
}

function pushFree(block: usize, blockClass: u32): void {
  const head = freeLists + (blockClass << 2);
  store<u32>(block, load<u32>(head));
  store<u32>(head, <u32>block);
  freeClasses |= <u32>1 << blockClass;
}

function popFree(blockClass: u32): usize {
  const head = freeLists + (blockClass << 2);
  const block = <usize>load<u32>(head);
  const next = load<u32>(block);
  store<u32>(head, next);
  if (next == 0) freeClasses &= ~(<u32>1 << blockClass);
  return block;
}

function isGranted(size: u32): bool {
  if (size > LARGEST || granted == 0) return false;
  granted--;
  return true;
}

/** A block of at least `size` bytes with arbitrary content, or 0 when there is no memory. */
export function blockAlloc(size: u32): usize {
  if (size > largest && !isGranted(size)) return 0;
  const wanted = classOf(size);
  const usable = freeClasses & (<u32>0xffffffff << wanted);
  if (usable != 0) {
    let blockClass = <u32>ctz(usable);
    const block = popFree(blockClass);
    while (blockClass > wanted) {
      blockClass--;
      pushFree(block + (<usize>64 << blockClass), blockClass);
    }
    return block;
  }
  const end = <u64>top + (<u64>64 << wanted);
  const pages = <u32>((end + 0xffff) >> 16);
  const have = <u32>memory.size();
  if (pages > have) {
    if (pages > pageLimit) return 0;
    // An eighth more than needed, so that steady growth does not call the host for every page; the
    // exact size when that is refused.
    const generous = min(pages + (have >> 3), pageLimit);
    if (
      memory.grow(generous - have) < 0 &&
      (generous == pages || memory.grow(pages - have) < 0)
    ) return 0;
  }
  const block = top;
  top = <usize>end;
  return block;
}

/** The size of the largest free block; 0: there is none. */
@inline
export function largestFree(): u32 {
  return <u32>64 << (31 - <u32>clz(freeClasses));
}

/** `size` is what was asked for. */
export function blockFree(block: usize, size: u32): void {
  pushFree(block, classOf(size));
}

/** Sets how many pages of 64 KiB the instance may have. */
export function memoryLimit(pages: u32): void {
  pageLimit = min(pages, 65535);
}

/**
 * Grants `blocks` more requests and refuses all that follow, as if memory could not grow and
 * nothing were free; -1: refuses none any more. Answers how many of the requests granted last are
 * left.
 */
export function memoryGrant(blocks: i32): u32 {
  const left = granted;
  largest = blocks < 0 ? LARGEST : 0;
  granted = max(blocks, 0);
  return left;
}

export function memoryPages(): u32 {
  return <u32>memory.size();
}

/** The u32 at an index of a block. */
@inline
export function wordAt(block: usize, index: u32): u32 {
  return load<u32>(block + (<usize>index << 2));
}

@inline
export function setWord(block: usize, index: u32, word: u32): void {
  store<u32>(block + (<usize>index << 2), word);
}
