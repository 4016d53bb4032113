import type { Clock, Ids, TrustedTime } from '../orchestrator/ports/index.ts';
import type { ServerConfig } from '../config.ts';
import type { DataFolder } from '../host/data-folder.ts';
import type { OfferedBook } from '../host/built-files.ts';
import type { BootReading } from '../host/kept-time.ts';
import type { MachineAddress } from '../host/addresses.ts';
import type { AgentProgram } from '../host/local-worker.ts';
import type { Network } from '../host/network.ts';
import type { SettingsFile } from '../host/settings-sources.ts';
import type { Certificates } from '../host/tls/index.ts';
import type { SocketLimits } from '../http/listener/http-listener.ts';
import type { BackupHandler } from '../http/routes/backup-routes.ts';
import type { HttpDeps } from '../http/server.ts';
import type { RequestLog } from '../http/listener/answer.ts';
import type { FailureLimit } from '../http/auth/failures.ts';

export interface ComposeDeps {
  readonly clock: Clock;
  /** Returns the time since the machine was booted; by default, reads it from the operating system. */
  readonly boot?: () => BootReading;
  readonly ids: Ids;
  readonly log: RequestLog;
  /** Logs one line per request when true. */
  readonly logRequests?: boolean;
  /** The agent program for the worker on this machine. */
  readonly agent: AgentProgram & {
    /** True if the program can run the sample training. */
    readonly hasSample: boolean;
  };
  /** The bytes of a new database, for tests. By default, all migrations run. */
  readonly emptyDatabase?: Uint8Array;
  /** Folder of the built worker programs, which rigs download; null for none. By default, the server searches for it. */
  readonly workerPrograms?: string | null;
  /** Returns the current addresses of this machine; by default, the addresses that the operating system reports. */
  readonly addresses?: () => readonly MachineAddress[];
  /** Time limits for clients; the defaults are in `main/http/listener/http-listener`. */
  readonly socketLimits?: SocketLimits;
  /** Limits for downloads of the worker program; the defaults are in `main/http/routes/downloads`. */
  readonly downloadLimits?: HttpDeps['downloadLimits'];
  /** Minimum speed of uploads; the default is in `main/http/uploads/receive-body`. */
  readonly uploadPace?: HttpDeps['artifacts']['pace'];
  /** Limit on calls without a valid token; the default is in docs/access.md. */
  readonly failureLimit?: FailureLimit;
  /** Called after a disk failure. Must exit the process immediately, because no further request may be answered. */
  readonly onFatal: () => void;
}

/** Dependencies with the trusted time, which stays correct across restarts of the process. */
export type TimedDeps = ComposeDeps & { readonly time: TrustedTime };

/** Dependencies that outlive the database; a restore does not touch them. */
export interface AppContext {
  readonly config: ServerConfig;
  readonly deps: TimedDeps;
  readonly folder: DataFolder;
  /** Returns the SHA-256 of the currently valid admin token. */
  readonly adminHash: () => Buffer;
  readonly file: SettingsFile;
  readonly network: Network;
  readonly certificates: Certificates;
  readonly panelDir: string | null;
  readonly programs: HttpDeps['programs'];
  readonly offered: OfferedBook;
  readonly isOurHost: HttpDeps['isOurHost'];
  readonly restore: BackupHandler['restore'];
}
