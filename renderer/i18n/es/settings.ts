import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'Este navegador',
  'settings.theme': 'Tema',
  'settings.theme.system': 'Sistema',
  'settings.theme.light': 'Claro',
  'settings.theme.dark': 'Oscuro',
  'settings.language': 'Idioma',
  'settings.zone': 'Zona horaria',
  'settings.zone.local': 'Local: {zone}',
  'settings.zone.utc': 'UTC',
  'settings.server': 'Orquestador',
  'settings.address': 'Dirección:',
  'settings.version': 'Versión:',
  'settings.network': 'Red',
  'settings.network.private': 'Solo esta máquina puede acceder al orquestador.',
  'settings.network.shared': 'Otras máquinas pueden acceder al orquestador en:',
  'settings.network.noAddress': 'Ahora mismo esta máquina no tiene dirección de red.',
  'settings.fixed': 'Definido por {by}. Para cambiarlo aquí, reinicie el servidor sin esa opción.',
  'settings.note.virtual': '{name}: solo contenedores y máquinas virtuales de esta máquina',
  'settings.note.vpn': '{name}: una red privada (VPN)',
  'settings.note.loopback': '{name}: solo esta máquina',
  'settings.share': 'Compartir en esta red',
  'settings.share.title': '¿Compartir en esta red?',
  'settings.share.what':
    'Las máquinas de la misma red podrán abrir este panel y unirse como workers. Los trabajos en ejecución no se ven afectados.',
  'settings.share.warning':
    'Los tokens se envían sin cifrar, y quien pueda escuchar en la red puede leerlos. Comparta solo en una red de confianza.',
  'settings.share.signIn': 'Los navegadores que abran otra dirección deben iniciar sesión en ella.',
  'settings.unshare': 'Dejar de compartir',
  'settings.unshare.title': '¿Dejar de compartir?',
  'settings.unshare.consequence':
    'Las conexiones de red se cierran de inmediato. Los workers de otras máquinas siguen entrenando, pero quedan sin conexión hasta que vuelva a compartir. Los navegadores de allí dejan de ver esta página.',
  'settings.unshare.workers':
    '{count, plural, =0 {No hay conectado ningún worker de otra máquina.} one {Hay # worker de otra máquina conectado.} other {Hay # workers de otras máquinas conectados.}}',
  'settings.tls': 'Cifrado (TLS)',
  'settings.tls.switch': 'Usar TLS con otras máquinas',
  'settings.tls.on':
    'Otras máquinas se conectan por HTTPS. Esta máquina usa HTTP sin cifrar, que nunca sale de ella.',
  'settings.tls.off': 'Otras máquinas se conectan por HTTP.',
  'settings.tls.askOn': '¿Usar TLS con otras máquinas?',
  'settings.tls.askOff': '¿Dejar de usar TLS con otras máquinas?',
  'settings.tls.turnOn': 'Activar TLS',
  'settings.tls.turnOff': 'Desactivar TLS',
  'settings.tls.consequence':
    'Las conexiones de red se cierran de inmediato. Los workers de otras máquinas siguen entrenando, pero quedan sin conexión hasta que usen la nueva dirección.',
  'settings.tls.anew':
    'Reinicie cada uno con un nuevo comando de unión (Workers, nuevo token) y abra allí esta página en su nueva dirección.',
  'settings.tls.fingerprint': 'Huella (SHA-256)',
  'settings.tls.pin': 'Pin para los workers',
  'settings.tls.until': 'Válido hasta',
  'settings.tls.names': 'Válido para',
  'settings.tls.own':
    'El orquestador creó este certificado, por eso los navegadores avisan en la primera visita. Continúe solo si la huella que muestran coincide con esta. El certificado se renueva solo; el pin no cambia.',
  'settings.tls.files':
    'El certificado se carga de archivos que se gestionan aparte. El servidor los recarga cuando cambian.',
  'settings.share.tls': 'Usar TLS (recomendado)',
  'settings.publicUrl': 'Dirección pública para los comandos de unión',
  'settings.publicUrl.hint':
    'Para máquinas que acceden a este servidor por otra dirección, como la de un proxy. Vacío: se usa una dirección de esta máquina.',
  'settings.save': 'Guardar',
  'settings.saved': 'Guardado.',
  'settings.here': 'Esta máquina',
  'settings.here.off': 'La propia máquina del servidor no ejecuta trabajos.',
  'settings.here.on': 'La propia máquina del servidor también ejecuta trabajos.',
  'settings.here.leaving': 'Termina su trabajo actual y después no ejecuta más.',
  'settings.here.turnOn': 'Ejecutar trabajos aquí',
  'settings.here.turnOff': 'Dejar de ejecutar trabajos aquí',
  'settings.here.onSays': 'Inicia un worker junto al servidor. Acepta trabajos como cualquier otro.',
  'settings.here.offSays':
    'Si lo desactiva, antes termina su trabajo actual. Si el servidor se detiene, el entrenamiento continúa, y el servidor lo sigue de nuevo tras su próximo inicio.',
  'settings.here.gpus': 'GPU',
  'settings.here.gpusHint': 'Números separados por comas. Vacío: todas.',
  'settings.here.trainer': 'Entrenador',
  'settings.here.trainerHint':
    'Igual que «trainyard worker --trainer»: simpletuner (predeterminado), kohya=FOLDER u otro entrenador, o un comando.',
  'settings.here.trainerElsewhere':
    'Este comando se ejecuta en la máquina del servidor, por eso solo se puede cambiar en un navegador de esa máquina.',
  'settings.here.restarts': 'Al guardar se reinicia el worker; su entrenamiento continúa.',
  'settings.folders': 'Carpetas',
  'settings.folders.configs': 'Configuraciones de entrenamiento',
  'settings.folders.data': 'Datos',
  'settings.copy': 'Copiar {text}',
  'gpuTrouble.title': 'GPU averiadas u ocupadas',
  'gpuTrouble.some': 'Un worker no acepta trabajos nuevos mientras una de sus GPU:',
  'gpuTrouble.none': 'Los workers aceptan trabajos aunque sus GPU tengan problemas.',
  'gpuTrouble.missing': 'falta o no responde',
  'gpuTrouble.errors': 'tiene errores de memoria no corregibles',
  'gpuTrouble.held': 'está en uso por un proceso ajeno al worker',
  'gpuTrouble.what':
    'Los trabajos en ejecución no se ven afectados. Si solo este worker puede ejecutar un trabajo, queda pendiente, muestra el motivo y empieza cuando se resuelve el problema.',
};
