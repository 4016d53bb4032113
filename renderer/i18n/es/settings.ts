import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'Este navegador',
  'settings.theme': 'Tema',
  'settings.theme.system': 'Como el sistema',
  'settings.theme.light': 'Claro',
  'settings.theme.dark': 'Oscuro',
  'settings.language': 'Idioma',
  'settings.zone': 'Zona horaria',
  'settings.zone.local': 'La de este equipo: {zone}',
  'settings.zone.utc': 'UTC',
  'settings.server': 'Orquestador',
  'settings.address': 'Dirección:',
  'settings.version': 'Versión:',
  'settings.network': 'Red',
  'settings.network.private': 'Solo esta máquina llega al orquestador.',
  'settings.network.shared': 'Otras máquinas llegan al orquestador en:',
  'settings.network.noAddress': 'Ahora mismo esta máquina no tiene dirección en ninguna red.',
  'settings.fixed': 'Fijado por {by}: para cambiarlo aquí, iniciar el servidor sin eso.',
  'settings.note.virtual': '{name}: solo contenedores y máquinas virtuales de esta máquina',
  'settings.note.vpn': '{name}: una red privada (VPN)',
  'settings.note.loopback': '{name}: solo esta máquina',
  'settings.share': 'Compartir en esta red',
  'settings.share.title': '¿Compartir en esta red?',
  'settings.share.what':
    'Al compartir, las máquinas de la misma red llegarán a este panel y podrán unirse como workers. Nada de lo que se ejecuta se ve afectado.',
  'settings.share.warning':
    'Los tokens viajan sin cifrar: conviene compartir solo en una red de confianza. Quien pueda escuchar en ella puede leerlos.',
  'settings.share.signIn': 'Un navegador que abre otra dirección tiene que iniciar sesión allí.',
  'settings.unshare': 'Dejar de compartir',
  'settings.unshare.title': '¿Dejar de compartir?',
  'settings.unshare.consequence':
    'Quien esté conectado por la red queda cortado de inmediato. Los workers de allí siguen entrenando y no responden hasta que se vuelva a compartir; los navegadores de allí pierden esta página.',
  'settings.unshare.workers':
    '{count, plural, =0 {No hay conectado ningún worker de otra máquina.} one {Hay # worker de otra máquina conectado.} other {Hay # workers de otras máquinas conectados.}}',
  'settings.tls': 'Cifrado (TLS)',
  'settings.tls.switch': 'Usar TLS con otras máquinas',
  'settings.tls.on':
    'Con otras máquinas se habla https. En su propia máquina sigue en http sin cifrar, que nunca sale de ella.',
  'settings.tls.off': 'Con otras máquinas se habla http sin cifrar.',
  'settings.tls.askOn': '¿Usar TLS con otras máquinas?',
  'settings.tls.askOff': '¿Hablar con otras máquinas sin TLS?',
  'settings.tls.turnOn': 'Activar TLS',
  'settings.tls.turnOff': 'Desactivar TLS',
  'settings.tls.consequence':
    'Quien esté conectado por la red queda cortado de inmediato. Los workers de allí siguen entrenando y no responden hasta que conozcan la nueva dirección.',
  'settings.tls.anew':
    'Hay que iniciar cada uno de nuevo con un nuevo comando de unión (Workers, nuevo token) y abrir allí esta página por su nueva dirección.',
  'settings.tls.fingerprint': 'Huella (SHA-256)',
  'settings.tls.pin': 'Pin, para los workers',
  'settings.tls.until': 'Válido hasta',
  'settings.tls.names': 'Emitido para',
  'settings.tls.own':
    'El orquestador ha creado este certificado él mismo, por eso los navegadores advierten en la primera visita: hay que comparar la huella que muestran con esta y continuar solo si son iguales. Se renueva solo; el pin no cambia.',
  'settings.tls.files':
    'El certificado viene de archivos que mantiene otra persona o programa. Se vuelven a leer cuando cambian.',
  'settings.share.tls': 'Usar TLS con ellas (recomendado)',
  'settings.publicUrl': 'Dirección pública, para los comandos de unión',
  'settings.publicUrl.hint':
    'Para máquinas que llegan a este servidor por una dirección distinta de las suyas, como la de un proxy. Si queda vacía, se usa una dirección de esta máquina.',
  'settings.save': 'Guardar',
  'settings.saved': 'Guardado.',
  'settings.here': 'Esta máquina',
  'settings.here.off': 'La propia máquina del servidor no ejecuta trabajos.',
  'settings.here.on': 'La propia máquina del servidor también ejecuta trabajos.',
  'settings.here.leaving': 'Termina su trabajo y después no ejecuta más.',
  'settings.here.turnOn': 'Ejecutar trabajos aquí',
  'settings.here.turnOff': 'No ejecutar más trabajos aquí',
  'settings.here.onSays': 'Se inicia un worker junto al servidor, que toma trabajos como cualquier otro.',
  'settings.here.offSays':
    'Al desactivarlo, primero se termina el trabajo que entrena. Cuando termina el servidor, un entrenamiento continúa y se retoma en el siguiente inicio.',
  'settings.here.gpus': 'GPU',
  'settings.here.gpusHint': 'Números separados por comas. Si queda vacío, todas.',
  'settings.here.trainer': 'Qué ejecuta un trabajo',
  'settings.here.trainerHint':
    'Como en «trainyard worker --trainer»: simpletuner (también si queda vacío), kohya=FOLDER u otro entrenador, o un comando.',
  'settings.here.trainerElsewhere':
    'Es un comando que se ejecuta en la máquina del servidor: solo se puede cambiar en un navegador de esa máquina.',
  'settings.here.restarts': 'Al guardar, el worker se inicia de nuevo; lo que entrena continúa.',
  'settings.folders': 'Carpetas',
  'settings.folders.configs': 'Configuraciones de entrenamiento',
  'settings.folders.data': 'Datos',
  'settings.copy': 'Copiar {text}',
  'gpuTrouble.title': 'GPU averiadas u ocupadas',
  'gpuTrouble.some': 'Un worker no recibe trabajos nuevos mientras una de sus GPU:',
  'gpuTrouble.none': 'Los trabajos van a los workers aunque algo falle en sus GPU.',
  'gpuTrouble.missing': 'falta o no responde',
  'gpuTrouble.errors': 'tiene errores de memoria que no se pudieron corregir',
  'gpuTrouble.held': 'está ocupada por un proceso ajeno al worker',
  'gpuTrouble.what':
    'Lo que ya está en ejecución no se toca. Un trabajo que solo pueda tomar ese worker espera, dice por qué y lo recibe en cuanto se resuelve el problema.',
};
