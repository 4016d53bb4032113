/** Texts of the queue page. They load together with it. */
export const queue = {
  'queue.column.grip': 'Move',
  'queue.move.grip': 'Move job {config}',
  'queue.move.hint': 'Drag to move, or press Space and use the arrow keys',
  'queue.move.grabbed':
    '{config} is at position {position}. Choose a place with the arrow keys, then press Space. Escape cancels.',
  'queue.move.to': '{config} moves to position {position}',
  'queue.move.stays': '{config} stays at position {position}',
  'queue.move.moved': '{config} moved to position {position}',
  'queue.move.gone': '{config} is no longer pending',
  'queue.move.targetIsTop':
    'Cannot move {config} past {other}: {other} was moved to the top. Move {config} to the top first.',
  'queue.move.jobIsTop':
    'Cannot move {config} past {other}: {config} is at the top. Set its priority to take it off the top, then move it.',
  'queue.move.priority':
    'Cannot move: {config} has {priority} priority and {other} has {otherPriority}, boosts included. Give both the same priority first.',
  'queue.move.up': 'Up',
  'queue.move.down': 'Down',
  'queue.move.drop': 'Move here',
  'queue.move.cancel': 'Cancel',
  'queue.runningOf': '{running, number} of {max, number} jobs running',
  'queue.teams': 'Teams take turns at equal priority. Running jobs: {list}.',
  'queue.team.of': '{team} {running, number} of {max, number}',
  'queue.team': '{team} {running, number}',
  'queue.groups': 'Why jobs wait',
  'queue.group.for': '{count, plural, one {# job waits for {needs}} other {# jobs wait for {needs}}}',
  'queue.group.any': '{count, plural, one {# job waits} other {# jobs wait}}',
  'queue.group.oneFor': '{job} waits for {needs}',
  'queue.group.oneAny': '{job} waits',
  'queue.group.allBusy':
    '{count, plural, one {The only matching worker is busy} other {All # matching workers are busy}}',
  'queue.group.oneBusy': '{worker} is busy',
  'queue.group.nextFree': 'next free in about {time}',
  'queue.group.more': '{count, plural, one {Show # more job} other {Show # more jobs}}',
  'queue.group.rest':
    '{count, plural, one {# more pending job is not grouped. The table shows its reason.} other {# more pending jobs are not grouped. The table shows their reasons.}}',
  'queue.group.limits': 'Change limits',
} as const;

export type QueueKey = keyof typeof queue;
