import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getRawAsset, isSea } from 'node:sea';

/** The functions of Windows that control processes. Node has none of them. */
export interface WindowsApi {
  /** Start time in units of 100 ns since 1601. Null when the process has ended, or belongs to another user. */
  startOf(pid: number): string | null;
  /**
   * Puts this process into a new job object. Processes that it starts from now on, and their descendants, are members.
   * Windows ends all members when this process ends for any reason. Returns null when Windows refuses.
   */
  enterJob(): ProcessJob | null;
  /**
   * Sends Ctrl+Break to this process and to all processes in the console of `pid`. Returns false when `pid` has no
   * console.
   */
  pressBreak(pid: number): boolean;
}

export interface ProcessJob {
  /** The pids of all members, including this process. */
  members(): readonly number[];
  /** Ends a member; does nothing when the process is no longer a member. */
  end(pid: number): void;
}

type ForeignFunction = (...args: readonly unknown[]) => unknown;

/** The part of koffi that this file uses: https://koffi.dev */
interface Koffi {
  load(library: string): {
    func(convention: string, name: string, result: string, parameters: readonly string[]): ForeignFunction;
  };
}

const assetName = 'koffi.node';

/**
 * Returns the functions of Windows. Returns null unless this program is an executable for Windows, which contains the
 * necessary library. The system loads libraries only from files, so this writes the library to a folder that other users
 * cannot change.
 */
export function openWindowsApi(env: Readonly<Record<string, string | undefined>>): WindowsApi | null {
  const home = env['LOCALAPPDATA'];
  if (!isSea() || process.platform !== 'win32' || home === undefined) return null;
  try {
    const library = new Uint8Array(getRawAsset(assetName));
    const addon: { readonly exports: Partial<Koffi> } = { exports: {} };
    process.dlopen(addon, writeLibrary(library, join(home, 'trainyard')));
    const { load } = addon.exports;
    return load === undefined ? null : createApi({ load });
  } catch {
    // Without the library, the caller uses the programs of Windows.
    return null;
  }
}

/**
 * Writes the file if it is missing or different, for example truncated. Safe if another process does this
 * simultaneously.
 */
function writeLibrary(content: Uint8Array, folder: string): string {
  const hash = createHash('sha256').update(content).digest('hex');
  const file = join(folder, `koffi-${hash.slice(0, 16)}.node`);
  if (isSame(file, content)) return file;
  mkdirSync(folder, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, file);
  return file;
}

function isSame(file: string, content: Uint8Array): boolean {
  try {
    return Buffer.compare(readFileSync(file), content) === 0;
  } catch {
    return false;
  }
}

/** Access rights, limits and information classes: winnt.h of the Windows SDK. */
const rights = { terminate: 0x1, query: 0x400, queryLimited: 0x1000, synchronize: 0x10_0000 } as const;
const stillRuns = 0x102;
const ctrlBreak = 1;
const basicProcessIds = 3;
const extendedLimits = { class: 9, bytes: 144, flagsOffset: 16, killOnClose: 0x2000 } as const;
const maxMembers = 4096;
const filetimeBytes = 8;
/** The exit code of processes that are ended by force, as with `taskkill /F`. */
const endedByForce = 1;

function createApi(koffi: Koffi): WindowsApi {
  const kernel = koffi.load('kernel32.dll');
  const bind = (name: string, result: string, ...parameters: readonly string[]): ForeignFunction =>
    kernel.func('__stdcall', name, result, parameters);
  const openProcess = bind('OpenProcess', 'void *', 'uint32', 'int', 'uint32');
  const closeHandle = bind('CloseHandle', 'int', 'void *');
  const waitForObject = bind('WaitForSingleObject', 'uint32', 'void *', 'uint32');
  const processTimes = bind('GetProcessTimes', 'int', ...Array.from({ length: 5 }, () => 'void *'));
  const currentProcess = bind('GetCurrentProcess', 'void *');
  const createJob = bind('CreateJobObjectW', 'void *', 'void *', 'void *');
  const setJob = bind('SetInformationJobObject', 'int', 'void *', 'int', 'void *', 'uint32');
  const queryJob = bind('QueryInformationJobObject', 'int', 'void *', 'int', 'void *', 'uint32', 'void *');
  const assignToJob = bind('AssignProcessToJobObject', 'int', 'void *', 'void *');
  const isInJob = bind('IsProcessInJob', 'int', 'void *', 'void *', 'void *');
  const terminate = bind('TerminateProcess', 'int', 'void *', 'uint32');
  const attachConsole = bind('AttachConsole', 'int', 'uint32');
  const freeConsole = bind('FreeConsole', 'int');
  const consoleEvent = bind('GenerateConsoleCtrlEvent', 'int', 'uint32', 'uint32');

  /** Calls `act` with a handle of the process. Returns null when there is no such process. */
  const withProcess = <T>(pid: number, access: number, act: (handle: unknown) => T): T | null => {
    const handle = openProcess(access, 0, pid);
    if (handle === null) return null;
    try {
      return act(handle);
    } finally {
      closeHandle(handle);
    }
  };

  const jobOf = (job: unknown): ProcessJob => ({
    members() {
      const list = Buffer.alloc(8 + 8 * maxMembers);
      // When the list is too short, the call returns an error, but still fills the list.
      queryJob(job, basicProcessIds, list, list.length, null);
      const count = Math.min(list.readUInt32LE(4), maxMembers);
      return Array.from({ length: count }, (_, index) => Number(list.readBigUInt64LE(8 + 8 * index)));
    },
    end(pid) {
      withProcess(pid, rights.terminate | rights.query, handle => {
        const isMember = Buffer.alloc(4);
        isInJob(handle, job, isMember);
        // The pid may belong to another process by now.
        if (isMember.readInt32LE() !== 0) terminate(handle, endedByForce);
      });
    },
  });

  return {
    startOf: pid =>
      withProcess(pid, rights.queryLimited | rights.synchronize, handle => {
        // A process that has ended exists until the last handle is closed.
        if (waitForObject(handle, 0) !== stillRuns) return null;
        const times = Array.from({ length: 4 }, () => Buffer.alloc(filetimeBytes));
        processTimes(handle, ...times);
        return String(times[0]?.readBigUInt64LE() ?? 0n);
      }),
    enterJob() {
      const job = createJob(null, null);
      const limits = Buffer.alloc(extendedLimits.bytes);
      limits.writeUInt32LE(extendedLimits.killOnClose, extendedLimits.flagsOffset);
      const isReady =
        job !== null &&
        setJob(job, extendedLimits.class, limits, limits.length) !== 0 &&
        assignToJob(job, currentProcess()) !== 0;
      return isReady ? jobOf(job) : null;
    },
    pressBreak(pid) {
      // Leave the current console first, because a process can have only one.
      freeConsole();
      if (attachConsole(pid) === 0) return false;
      const isSent = consoleEvent(ctrlBreak, 0) !== 0;
      freeConsole();
      return isSent;
    },
  };
}
