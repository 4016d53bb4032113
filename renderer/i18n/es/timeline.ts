import type { TimelineKey } from '../en/timeline.ts';

export const timeline: Readonly<Record<TimelineKey, string>> = {
  'timeline.label': 'Intentos por worker y hora',
  'timeline.help':
    'Las flechas mueven el intervalo visible, más y menos cambian el zoom y N vuelve a la hora actual. El tabulador lleva a las barras. Allí, las flechas eligen otra barra y Intro abre su trabajo.',
  'timeline.zoom': 'Intervalo visible',
  'timeline.zoom.hour': '1 h',
  'timeline.zoom.hours': '6 h',
  'timeline.zoom.day': 'Día',
  'timeline.zoom.week': 'Semana',
  'timeline.zoom.month': 'Mes',
  'timeline.earlier': 'Mostrar horas anteriores',
  'timeline.later': 'Mostrar horas posteriores',
  'timeline.now': 'Ahora',
  'timeline.none':
    'Todavía no hay workers ni trabajos. Cada worker tiene aquí una fila. Cada intento de un trabajo es una barra en ella, y los trabajos pendientes muestran su inicio previsto.',
  'timeline.none.add': 'Añadir worker',
  'timeline.noBars': 'No se ejecutó ningún trabajo en este intervalo.',
  'timeline.cut':
    'Solo se muestran los {count, number} intentos más recientes de este intervalo. Acerque el zoom para ver los anteriores.',
  'timeline.showTable': 'Mostrar como tabla',
  'timeline.hideTable': 'Ocultar tabla',
  'timeline.table': 'Intentos en el intervalo visible',
  'timeline.column.worker': 'Worker',
  'timeline.column.job': 'Trabajo',
  'timeline.column.attempt': 'Intento',
  'timeline.column.state': 'Estado',
  'timeline.column.from': 'Inicio',
  'timeline.column.to': 'Fin',
  'timeline.bar': '{job} en {worker}, intento {attempt, number}: {state}, de {from} a {to}',
  'timeline.bar.live': '{job} en {worker}, intento {attempt, number}: {state} desde {from}',
  'timeline.bar.expected':
    '{job} en {worker}, intento {attempt, number}: {state} desde {from}, fin previsto {to}',
  'timeline.bar.predicted': '{job}: pendiente, puede empezar en {worker} a las {from}',
  'timeline.bar.predictedEnd':
    '{job}: pendiente, puede empezar en {worker} a las {from} y durar hasta aproximadamente {to}',
  'timeline.about': 'hasta aprox. {time}',
  'timeline.legend': 'Colores',
  'timeline.state.predicted': 'inicio previsto',
  'timeline.legend.moved': 'devuelto a la cola o perdido',
  'timeline.legend.rest': 'tiempo restante previsto',
};
