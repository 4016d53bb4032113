import type { Words } from './en.ts';

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
  unreachable: 'no accesible',
  workersConnected: n => (n === 0 ? 'ningún worker' : `${n} ${n === 1 ? 'worker' : 'workers'}`),
  jobsRunning: n =>
    n === 0 ? 'ningún trabajo en curso' : `${n} ${n === 1 ? 'trabajo' : 'trabajos'} en curso`,
  moreJobs: n => `${n} más…`,
  paused: 'cola en pausa',
  completed: count('trabajo completado', 'trabajos completados'),
  failed: count('trabajo fallido', 'trabajos fallidos'),
  lost: count('worker perdido con su trabajo', 'workers perdidos con sus trabajos'),
  several: 'Actividad de la flota',
  jobCompleted: 'Trabajo completado',
  jobFailed: 'Trabajo fallido',
  workerLost: name => `El worker ${name} dejó de responder`,
  jobOfWorker: job => `Su trabajo: ${job}`,
  stillRunning: 'Trainyard sigue en marcha',
  stillRunningBody:
    'La ventana está cerrada, pero el orquestador sigue en marcha. Use su icono junto al reloj para abrirla de nuevo o salir.',
  quitQuestion: n => `¿Salir mientras ${n === 1 ? 'hay un trabajo en curso' : `hay ${n} trabajos en curso`}?`,
  quitDetail:
    'Los workers siguen entrenando, también en este equipo, e informan cuando Trainyard vuelve a funcionar. Hasta entonces ' +
    'no se asignan trabajos pendientes y no se ve el progreso.',
  portTaken: port => `Otro programa usa el puerto ${port}`,
  portTakenDetail:
    'Los workers de otras máquinas se conectan a este puerto. Cierre ese programa y vuelva a iniciar Trainyard, o use otro puerto esta vez.',
  otherPort: 'Usar otro puerto',
  notStarted: 'El orquestador no puede iniciarse',
  restored:
    'La base de datos estaba dañada y se sustituyó por una copia de seguridad. Los cambios posteriores a esa copia se han perdido',
  wait: 'Esperar',
  reloadPage: 'Recargar',
  pageHangs: 'La ventana no responde',
  pageHangsDetail: 'Solo afecta a la ventana. El orquestador y todos los trabajos siguen en marcha.',
  diagnosticsCopied: 'El diagnóstico está en el portapapeles',
  diagnosticsCopiedDetail:
    'No contiene secretos. El texto incluye versiones, ajustes y el final del registro, con nombres de carpetas, workers y trabajos: léalo antes de compartirlo.',
  updateAvailable: n => `Trainyard ${n} está disponible`,
  updateAvailableBody: 'Haga clic para ver las novedades e instalarlo.',
  restartQuestion: n =>
    `¿Reiniciar mientras ${n === 1 ? 'hay un trabajo en curso' : `hay ${n} trabajos en curso`}?`,
  restartDetail:
    'Todos los workers siguen entrenando, también el de este equipo, e informan cuando se ejecuta la nueva versión.',
  restartNow: 'Reiniciar ahora',
  restartAfterJobs: 'Cuando terminen los trabajos',
  unsignedBuild: 'compilación sin firmar',
  joinQuestion: '¿Añadir esta flota a Trainyard?',
  joinAddress: url => `Dirección: ${url}`,
  joinPin: pin => `Pin: ${pin || 'ninguno'}`,
  joinDetail:
    'Un enlace propone esta flota. Continúe solo si sabe de dónde viene el enlace. Después, la aplicación pide su token.',
  joinUnencrypted: 'La dirección no está cifrada: otras personas de la red podrían leer su token.',
  joinContinue: 'Continuar',
  linkHasToken: 'El enlace contiene un token o una contraseña',
  linkHasTokenDetail:
    'Trainyard no lo abrió, porque los enlaces quedan en chats e historiales. Revoque ese token y use un enlace que solo tenga la dirección y el pin.',
  linkInvalid: 'El enlace no es válido',
  linkInvalidDetail:
    'Un enlace a una flota contiene una dirección (https://… o http://…) y, si el servidor lo necesita, un pin (sha256:…).',
  needAttention: n => `${n} ${n === 1 ? 'elemento requiere' : 'elementos requieren'} atención`,
  appsMenuFailed: 'No se puede cambiar el menú de aplicaciones',
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
    keys: 'Atajos de teclado y ayuda',
    reload: 'Recargar',
    copyDiagnostics: 'Copiar el diagnóstico',
    checkForUpdates: 'Buscar actualizaciones…',
    inAppsMenu: 'Mostrar en el menú de aplicaciones',
    about: 'Acerca de Trainyard',
  },
};
