import type { overview as source } from '../en/overview.ts';

export const overview: Readonly<Record<keyof typeof source, string>> = {
  'overview.workers': 'Workers',
  'overview.workersOnline': '{online, number} de {all, number} en línea',
  'overview.state.idle': '{count, number} libres',
  'overview.state.busy': '{count, number} ocupados',
  'overview.state.draining': '{count, number} drenándose',
  'overview.state.quarantined': '{count, number} en cuarentena',
  'overview.state.connecting': '{count, number} conectándose',
  'overview.state.offline': '{count, number} sin conexión',
  'overview.state.never': '{count, number} nunca conectados',
  'overview.gpus': 'GPU',
  'overview.gpusInUse': '{busy, number} de {all, number} en uso',
  'overview.gpusNote': 'en workers en línea',
  'overview.queue': 'Cola',
  'overview.waiting': '{count, plural, =0 {Cola vacía} one {# en cola} other {# en cola}}',
  'overview.nothingWaits': 'sin trabajos pendientes',
  'overview.oldest': 'el más antiguo:',
  'overview.lastDay': 'Últimas 24 horas',
  'overview.completed': '{count, plural, one {# completado} other {# completados}}',
  'overview.failed': '{count, plural, =0 {ninguno fallido} one {# fallido} other {# fallidos}}',
  'overview.dayNote':
    '{count, plural, =0 {ninguno fallido} one {# fallido} other {# fallidos}}, horas de GPU: {hours}',
  'overview.needsAttention': 'Requiere atención',
  'overview.silentJob': '{worker} no envía latidos, y quizá siga entrenando {job}',
  'overview.unsatisfiable':
    '{more, plural, =0 {Ningún worker puede ejecutar {job}} one {Ningún worker puede ejecutar {job} ni # trabajo similar} other {Ningún worker puede ejecutar {job} ni # trabajos similares}}',
  'overview.wantsApproval': '{job} de {user} necesita aprobación',
  'overview.quarantined': '{worker} está en cuarentena: no acepta trabajos',
  'overview.gpuTrouble': '{worker}: {what}',
  'overview.duplicate': 'Otra máquina ha intentado unirse como {worker}',
  'overview.offline': '{worker} perdió la conexión y no está disponible',
  'overview.waitsForOffline':
    '{worker} está sin conexión; {count, plural, one {# trabajo espera} other {# trabajos esperan}} solo a este worker',
  'overview.waitsForOfflineMany':
    '{worker} y {others, plural, one {# worker más} other {# workers más}} están sin conexión; {count, plural, one {# trabajo espera} other {# trabajos esperan}} solo a estos workers',
  'overview.failedJobs':
    '{count, plural, one {# trabajo falló} other {# trabajos fallaron}} en las últimas 24 horas',
  'overview.running': 'En ejecución',
  'overview.nothingRuns': 'No hay trabajos en ejecución',
  'overview.viewAll': 'Ver los {count, number}',
  'overview.recent': 'Actividad reciente',
  'overview.nothingYet': 'Aún no hay actividad',
  'overview.nothingSince': 'Sin actividad desde que abrió esta página',
};
