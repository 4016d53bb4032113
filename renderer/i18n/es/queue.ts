import type { QueueKey } from '../en/queue.ts';

export const queue: Readonly<Record<QueueKey, string>> = {
  'queue.column.grip': 'Mover',
  'queue.move.grip': 'Mover el trabajo {config}',
  'queue.move.hint': 'Arrastra para mover, o pulsa Espacio y usa las flechas',
  'queue.move.grabbed':
    '{config} está en la posición {position}. Elige un lugar con las flechas y pulsa Espacio. Escape cancela.',
  'queue.move.to': '{config} pasa a la posición {position}',
  'queue.move.stays': '{config} se queda en la posición {position}',
  'queue.move.moved': '{config} pasó a la posición {position}',
  'queue.move.gone': '{config} ya no está pendiente',
  'queue.move.targetIsTop':
    'No es posible: {other} se movió al principio y {config} no. Mueve también {config} al principio.',
  'queue.move.jobIsTop':
    'No es posible: {config} se movió al principio y {other} no. Fija antes la prioridad de {config}.',
  'queue.move.priority':
    'No es posible: {other} cuenta con prioridad {otherPriority} y {config} con prioridad {priority}. Cambia antes la prioridad.',
  'queue.move.up': 'Subir',
  'queue.move.down': 'Bajar',
  'queue.move.drop': 'Mover aquí',
  'queue.move.cancel': 'Cancelar',
  'queue.runningOf': '{running, number} de {max, number} trabajos en curso',
  'queue.teams': 'Los equipos se turnan con la misma prioridad. Trabajos en curso: {list}.',
  'queue.team.of': '{team} {running, number} de {max, number}',
  'queue.team': '{team} {running, number}',
  'queue.groups': 'Por qué esperan los trabajos',
  'queue.group.for': '{count, plural, one {# trabajo espera {needs}} other {# trabajos esperan {needs}}}',
  'queue.group.any': '{count, plural, one {# trabajo espera} other {# trabajos esperan}}',
  'queue.group.oneFor': '{job} espera {needs}',
  'queue.group.oneAny': '{job} espera',
  'queue.group.allBusy':
    '{count, plural, one {El único worker adecuado está ocupado} other {Los # workers adecuados están ocupados}}',
  'queue.group.oneBusy': '{worker} está ocupado',
  'queue.group.nextFree': 'uno libre en unos {time}',
  'queue.group.more': '{count, plural, one {Mostrar # trabajo más} other {Mostrar # trabajos más}}',
  'queue.group.rest':
    '{count, plural, one {# trabajo pendiente más no está en ningún grupo.} other {# trabajos pendientes más no están en ningún grupo.}}',
  'queue.group.limits': 'Cambiar los límites',
};
