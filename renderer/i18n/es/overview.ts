import type { overview as source } from '../en/overview.ts';

export const overview: Readonly<Record<keyof typeof source, string>> = {
  'overview.workers': 'Workers',
  'overview.workersOnline': '{online, number} de {all, number} en línea',
  'overview.workersStates':
    '{idle, number} libres, {busy, number} trabajando, {offline, number} sin conexión',
  'overview.gpus': 'GPU',
  'overview.gpusInUse': '{busy, number} de {all, number} en uso',
  'overview.gpusNote': 'en workers en línea',
  'overview.queue': 'Cola',
  'overview.waiting': '{count, plural, =0 {Nada espera} one {# trabajo espera} other {# trabajos esperan}}',
  'overview.nothingWaits': 'cada trabajo tiene un worker',
  'overview.oldest': 'el más antiguo llegó',
  'overview.lastDay': 'Últimas 24 horas',
  'overview.completed': '{count, plural, one {# completado} other {# completados}}',
  'overview.failed': '{count, plural, =0 {ninguno fallido} one {# fallido} other {# fallidos}}',
  'overview.dayNote':
    '{count, plural, =0 {ninguno fallido} one {# fallido} other {# fallidos}}, horas de GPU: {hours}',
  'overview.needsYou': 'Requiere atención',
  'overview.needsSomebody': 'Requiere la atención de alguien',
  'overview.silentJob': '{worker} no responde, y quizá siga entrenando {job}',
  'overview.unsatisfiable':
    '{more, plural, =0 {Ningún worker podría aceptar {job}} one {Ningún worker podría aceptar {job}, ni otro como él} other {Ningún worker podría aceptar {job}, ni otros # como él}}',
  'overview.wantsApproval': '{job} de {user} espera aprobación',
  'overview.quarantined': '{worker} está en cuarentena: allí no se pueden iniciar trabajos',
  'overview.gpuTrouble': '{worker}: {what}',
  'overview.duplicate': 'Otra máquina ha intentado unirse como {worker}',
  'overview.running': 'En ejecución',
  'overview.nothingRuns': 'Ahora mismo no se ejecuta nada.',
  'overview.more': '{count, plural, one {y # más} other {y # más}}',
  'overview.recent': 'Qué ha pasado',
  'overview.nothingYet': 'Todavía no ha pasado nada.',
  'overview.nothingSince': 'No ha ocurrido nada desde que se abrió esta página.',
};
