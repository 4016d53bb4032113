import type { Words } from './words.ts';

const count = (one: string, several: string) => (n: number) =>
  n === 0 ? '' : `${n} ${n === 1 ? one : several}`;

export const es: Words = {
  thisComputer: 'Este equipo',
  open: 'Abrir Trainyard',
  pause: 'Pausar la cola',
  resume: 'Reanudar la cola',
  quit: 'Salir de Trainyard…',
  quitShort: 'Salir',
  cancel: 'Cancelar',
  notReached: 'no se llega a ella',
  workersThere: n => (n === 0 ? 'ningún worker' : `${n} ${n === 1 ? 'worker' : 'workers'}`),
  jobsRunning: n =>
    n === 0 ? 'ningún trabajo en curso' : `${n} ${n === 1 ? 'trabajo' : 'trabajos'} en curso`,
  moreJobs: n => `${n} más…`,
  paused: 'cola en pausa',
  completed: count('trabajo terminado', 'trabajos terminados'),
  failed: count('trabajo fallido', 'trabajos fallidos'),
  lost: count('worker perdido con su trabajo', 'workers perdidos con sus trabajos'),
  several: 'Novedades de la flota',
  jobCompleted: 'Trabajo terminado',
  jobFailed: 'Trabajo fallido',
  workerLost: name => `El worker ${name} no responde`,
  itHad: job => `Tiene el trabajo ${job}`,
  goesOn: 'Trainyard sigue en marcha',
  goesOnBody:
    'La ventana está cerrada; el orquestador sigue trabajando. Con su icono, junto al reloj, se vuelve a abrir o se sale.',
  quitAsk: n => `¿Salir mientras ${n === 1 ? 'hay un trabajo en curso' : `hay ${n} trabajos en curso`}?`,
  quitWhat:
    'Los workers siguen con lo que entrenan, también en este equipo, y lo comunican cuando Trainyard vuelve a funcionar. Hasta ' +
    'entonces no se reparte ningún trabajo en espera, y nadie ve cuánto han avanzado.',
  portTaken: port => `Otro programa usa el puerto ${port}`,
  portTakenWhat:
    'Por él encuentran al orquestador los workers de otras máquinas. Hay que cerrar ese programa y volver a iniciar Trainyard, o usar otro puerto esta vez.',
  otherPort: 'Usar otro puerto',
  notStarted: 'El orquestador no puede iniciarse',
  restored:
    'La base de datos estaba dañada y una copia de seguridad ocupa su lugar: lo que cambió desde entonces se ha perdido',
  menu: {
    file: 'Archivo',
    edit: 'Edición',
    view: 'Ver',
    fleet: 'Flota',
    window: 'Ventana',
    help: 'Ayuda',
    closeWindow: 'Cerrar la ventana',
    newJob: 'Nuevo trabajo',
    settings: 'Ajustes…',
    overview: 'Resumen',
    workers: 'Workers',
    jobs: 'Trabajos',
    queue: 'Cola',
    data: 'Datos',
    audit: 'Auditoría',
    keys: 'Teclas y ayuda',
    reload: 'Volver a cargar',
    about: 'Acerca de Trainyard',
  },
};
