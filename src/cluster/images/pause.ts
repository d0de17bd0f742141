// The program that holds a pod's namespaces: it waits, and lets its children go. Written as the few instructions it is, so that a
// machine without compiler and without network has it.
import { imageArchive } from "./image.ts";

export const pauseReference = "knarr.local/pause:1";

/**
 * Ignoring SIGCHLD lets the kernel bury children; then it waits for SIGTERM or SIGINT, and ends. Both are blocked and waited for: the
 * first process of a container is not told of signals that it has no handler for.
 */
// biome-ignore format: one instruction per line
const programs: Readonly<Record<string, { readonly machine: number; readonly code: readonly number[] }>> = {
  x64: {
    machine: 62,
    code: [
      0xb8, 0x0d, 0x00, 0x00, 0x00, // mov eax, rt_sigaction
      0xbf, 0x11, 0x00, 0x00, 0x00, // mov edi, SIGCHLD
      0x48, 0x8d, 0x35, 0x37, 0x00, 0x00, 0x00, // lea rsi, [rip + action]
      0x31, 0xd2, // xor edx, edx
      0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // mov r10d, 8
      0x0f, 0x05, // syscall
      0xb8, 0x0e, 0x00, 0x00, 0x00, // mov eax, rt_sigprocmask
      0x31, 0xff, // xor edi, edi: SIG_BLOCK
      0x48, 0x8d, 0x35, 0x3f, 0x00, 0x00, 0x00, // lea rsi, [rip + ends]
      0x0f, 0x05, // syscall
      0xb8, 0x80, 0x00, 0x00, 0x00, // wait: mov eax, rt_sigtimedwait
      0x48, 0x8d, 0x3d, 0x31, 0x00, 0x00, 0x00, // lea rdi, [rip + ends]
      0x31, 0xf6, // xor esi, esi
      0x0f, 0x05, // syscall
      0x85, 0xc0, // test eax, eax
      0x78, 0xec, // js wait
      0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, exit_group
      0x31, 0xff, // xor edi, edi
      0x0f, 0x05, // syscall
    ],
  },
  arm64: {
    machine: 183,
    code: [
      0x20, 0x02, 0x80, 0xd2, // mov x0, SIGCHLD
      0xa1, 0x02, 0x00, 0x10, // adr x1, action
      0x02, 0x00, 0x80, 0xd2, // mov x2, 0
      0x03, 0x01, 0x80, 0xd2, // mov x3, 8
      0xc8, 0x10, 0x80, 0xd2, // mov x8, rt_sigaction
      0x01, 0x00, 0x00, 0xd4, // svc
      0x00, 0x00, 0x80, 0xd2, // mov x0, SIG_BLOCK
      0xe1, 0x02, 0x00, 0x10, // adr x1, ends
      0x02, 0x00, 0x80, 0xd2, // mov x2, 0
      0x03, 0x01, 0x80, 0xd2, // mov x3, 8
      0xe8, 0x10, 0x80, 0xd2, // mov x8, rt_sigprocmask
      0x01, 0x00, 0x00, 0xd4, // svc
      0x40, 0x02, 0x00, 0x10, // wait: adr x0, ends
      0x01, 0x00, 0x80, 0xd2, // mov x1, 0
      0x02, 0x00, 0x80, 0xd2, // mov x2, 0
      0x03, 0x01, 0x80, 0xd2, // mov x3, 8
      0x28, 0x11, 0x80, 0xd2, // mov x8, rt_sigtimedwait
      0x01, 0x00, 0x00, 0xd4, // svc
      0x40, 0xff, 0xff, 0xb7, // tbnz x0, 63, wait
      0x00, 0x00, 0x80, 0xd2, // mov x0, 0
      0xc8, 0x0b, 0x80, 0xd2, // mov x8, exit_group
      0x01, 0x00, 0x00, 0xd4, // svc
    ],
  },
};

const base = 0x400000n;
const headBytes = 120;
/** The action for SIGCHLD: ignore it, no flags, nothing blocked. */
const action = [1n, 0n, 0n, 0n];
/** A bit for each signal: SIGINT is 2, SIGTERM 15. */
const ends = (1n << 1n) | (1n << 14n);
/** Follows the code, at a multiple of eight. */
const words = [...action, ends];

/** An executable of one segment, for this machine's processor. */
export function pauseProgram(arch: string = process.arch): Buffer {
  const program = programs[arch];
  if (!program) throw new Error(`there is no pause program for processors of type ${arch}`);
  const size = headBytes + program.code.length + words.length * 8;
  const bytes = Buffer.alloc(size);
  bytes.write("\x7fELF", "latin1");
  bytes.set([2, 1, 1], 4); // 64 bits, little-endian, version 1
  bytes.writeUInt16LE(2, 16); // executable
  bytes.writeUInt16LE(program.machine, 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(base + BigInt(headBytes), 24); // where it begins
  bytes.writeBigUInt64LE(64n, 32); // where the segment's description is
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64); // to be loaded
  bytes.writeUInt32LE(5, 68); // to be read and executed
  bytes.writeBigUInt64LE(base, 80);
  bytes.writeBigUInt64LE(base, 88);
  bytes.writeBigUInt64LE(BigInt(size), 96);
  bytes.writeBigUInt64LE(BigInt(size), 104);
  bytes.writeBigUInt64LE(0x1000n, 112);
  bytes.set(program.code, headBytes);
  words.forEach((word, i) => {
    bytes.writeBigUInt64LE(word, headBytes + program.code.length + i * 8);
  });
  return bytes;
}

export const pauseImage = (): Buffer =>
  imageArchive([
    {
      references: [pauseReference],
      layers: [[{ name: "pause", mode: 0o755, content: pauseProgram() }]],
      entrypoint: ["/pause"],
    },
  ]);
