import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './processes.ts';

/** A shell function that prints a field of the JSON message in `$message`. */
const field = `field() { printf '%s' "$message" | '${process.execPath}' -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"; }`;

/** The programs of the engine. `$machines` contains a folder for each machine, with the pid of its process group. */
const programs = {
  check: `echo '{"ok": true, "version": "1.0", "detail": "Four scripts", "queues": [{"name": "all", "limits": "1 d"}]}'`,
  launch: `machine="$machines/$(field name)"
mkdir -p "$machine"
field start >"$machine/start"
TRAINYARD_FOLDER="$machine" TRAINYARD_JOIN=$(field join_token) setsid sh "$machine/start" >"$machine/log" 2>&1 </dev/null &
echo $! >"$machine/pid"
printf '{"result": "accepted", "engine_id": "%s"}' $!`,
  list: `printf '{"launches": ['
comma=
for machine in "$machines"/trainyard-*; do
  [ -f "$machine/pid" ] || continue
  pid=$(cat "$machine/pid")
  case $(ps -o stat= -p "$pid") in
    '' | Z*) state='"ended", "exit": "completed"' ;;
    *) state='"running"' ;;
  esac
  printf '%s{"name": "%s", "engine_id": "%s", "nodes": ["node7"], "state": %s}' "$comma" "\${machine##*/}" "$pid" "$state"
  comma=,
done
echo ']}'`,
  end: `[ "$(field how)" = ask ] && signal=USR1 || signal=KILL
for name in $(field 'names.join(" ")'); do
  pid=$(cat "$machines/$name/pid")
  if [ $signal = KILL ]; then kill -s KILL -- "-$pid"; else kill -s USR1 "$pid"; fi
done
exit 0`,
} as const;

/** A machine of the engine. */
interface ShellMachine {
  readonly name: string;
  readonly pid: number;
  /** The output of the worker. */
  readonly log: string;
}

/**
 * Installs a `command` engine of four shell scripts, whose machines are process groups on this computer. `name`: the value of the
 * pool's setting `programs`. The end of the test kills machines that still run.
 */
export function installShellEngine(dataDir: string, name: string) {
  const folder = join(dataDir, 'engines', name);
  const machinesFolder = temporaryFolder();
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const [program, text] of Object.entries(programs))
    writeFileSync(
      join(folder, program),
      `#!/bin/sh\nmachines='${machinesFolder}'\nmessage=$(cat)\n${field}\n${text}\n`,
      { mode: 0o755 },
    );
  const machines = (): readonly ShellMachine[] =>
    readdirSync(machinesFolder).map(machine => {
      const read = (file: string): string => readFileSync(join(machinesFolder, machine, file), 'utf8');
      return { name: machine, pid: Number(read('pid')), log: read('log') };
    });
  onTestFinished(() => {
    for (const { pid } of machines()) killGroup(pid);
  });
  return { folder, machines };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}
